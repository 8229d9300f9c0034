# SPDX-License-Identifier: Apache-2.0
"""Tables and a plot from the results of bench.py."""
from html import escape
from math import log10

import cases
import learning
from stats import added, middle, ratio

PACKAGES = {"jq": "jq", "sqlite3": "sqlite3", "redis-server": "redis-server redis-tools", "python3": "python3",
            "cc1": "gcc"}

# The metric that stands for a case, its unit, and digits.
METRICS = {cases.OPERATION: ("cpu", "ns", 1), cases.MEMORY: ("cpu", "ns", 1), cases.PROCESS: ("cpu_s", "s", 2),
           cases.REDIS: ("rps", "/s", 0), cases.EXIT: ("exit_cpu_s", "s", 3)}


def metric_of(case, tool):
    """heaptrack's command works in a process of its own besides: there the wall clock counts."""
    metric, unit, digits = METRICS[case["how"]]
    if tool in ("heaptrack", "dhat"):
        metric = {"cpu": "ns", "cpu_s": "wall_s"}.get(metric, metric)
    return metric, unit, digits


def _cell(case, tool, base):
    metric, unit, digits = metric_of(case, tool)
    value = middle(case, tool, metric)
    if value is None:
        return "failed" if tool in case["wrong"] else ""
    if unit == "ns" and value >= 10000:
        value, unit = value / 1000, "µs"
    text = f"{value:,.{digits}f} {unit}"
    if tool != base and case["how"] != cases.EXIT:
        times = ratio(case, tool, base, metric)
        text += f" ({times:.2f}×)" if times is not None else ""
    return text


def _grid(results, names, how=None):
    present = [n for n in names if any(n in c["rounds"] for c in results["cases"].values())]
    titles = " | ".join(results["tools"][n]["title"] for n in present)
    lines = [f"| | {titles} |", "|---" * (len(present) + 1) + "|"]
    for case in results["cases"].values():
        if (how and case["how"] not in how) or not any(n in case["rounds"] for n in present):
            continue
        cells = [_cell(case, n, results["tools"][n]["baseline"]) for n in present]
        lines.append(f"| ({case['letter']}) {case['title']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _memory(results):
    lines = ["| | tool | peak, MiB | above its baseline, MiB | bytes a live block | with its reader's, MiB |",
             "|---|---|---|---|---|---|"]
    for case in results["cases"].values():
        if case["how"] not in (cases.MEMORY, cases.PROCESS, cases.REDIS):
            continue
        for tool in case["rounds"]:
            peak = middle(case, tool, "peak_kib")
            if peak is None:
                continue
            base = results["tools"][tool]["baseline"]
            more = added(case, tool, base, "peak_kib") if tool != base else None
            blocks = middle(case, tool, "blocks") if case["how"] == cases.MEMORY else None
            everything = middle(case, tool, "all_kib") if case["how"] == cases.MEMORY else None
            lines.append(f"| ({case['letter']}) {case['title']} | {results['tools'][tool]['title']} "
                         f"| {peak / 1024:,.1f} | " + (f"{more / 1024:,.1f}" if more is not None else "") + " | "
                         + (f"{more * 1024 / blocks:.1f}" if blocks and more is not None else "") + " | "
                         + (f"{everything / 1024:,.1f}" if everything and everything > peak else "") + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def table(results):
    """Markdown."""
    parts = [f"{results['machine']}; {results['date']}; medians of {results['runs']} interleaved rounds"
             + (", quick" if results["quick"] else "") + ".",
             "Processor time of whole programs, and by their own clock of operations of one thread; wall time for "
             "those of two, and under heaptrack's command and dhat. In brackets: the ratio to the same without the "
             "tool; for allocators with a profiler of their own, to that allocator.",
             _grid(results, (*cases.OURS, *cases.HEAPTRACK, "dhat")), _grid(results, cases.ALLOCATORS),
             _memory(results)]
    if "learn" in results:
        parts.append(learning.table(results["learn"]))
    if results["missing"]:
        parts.append("Not found:\n\n" + "\n".join(f"- {m}" for m in results["missing"]))
    return "\n\n".join(p for p in parts if p) + "\n"


# ---- Plot ----

SHOWN = (("default", "#2a78b8"), ("rate1", "#e08a2c"), ("heaptrack-lib", "#9aa0a6"), ("heaptrack", "#5f6368"))
LEFT, RIGHT, BAR, GAP, TOP = 330, 90, 13, 12, 70


def _slowdown(case, tool):
    metric, _, _ = metric_of(case, tool)
    r = ratio(case, tool, "plain", metric)
    return 1 / r if r and metric == "rps" else r


def plot(results):
    """An SVG: how many times as long each case takes, on a logarithmic scale."""
    rows = [(c, [(t, color, _slowdown(c, t)) for t, color in SHOWN]) for c in results["cases"].values()
            if c["how"] in (cases.OPERATION, cases.PROCESS, cases.REDIS) and any(_slowdown(c, t) for t, _ in SHOWN)]
    most = max((s for _, bars in rows for _, _, s in bars if s), default=10)
    decades = max(1, int(log10(most)) + 1)
    width, plot_width = 960, 960 - LEFT - RIGHT
    height = TOP + len(rows) * (len(SHOWN) * BAR + GAP) + 40

    def x(value):
        return LEFT + plot_width * log10(max(value, 1)) / decades

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="20" font-size="15">Time with the profiler / time without (logarithmic)</text>']
    for i, (tool, color) in enumerate(SHOWN):
        title = results["tools"].get(tool, {}).get("title", tool)
        at = LEFT - 230 + i * 210
        out.append(f'<rect x="{at}" y="33" width="12" height="12" fill="{color}"/>'
                   f'<text x="{at + 18}" y="43">{escape(title)}</text>')
    for decade in range(decades + 1):
        for step in (1, 2, 5):
            value = step * 10 ** decade
            if value > 10 ** decades:
                continue
            out.append(f'<line x1="{x(value):.1f}" y1="{TOP - 8}" x2="{x(value):.1f}" y2="{height - 30}" '
                       f'stroke="#{"c8c8c8" if step == 1 else "ececec"}"/>'
                       f'<text x="{x(value):.1f}" y="{height - 14}" text-anchor="middle" fill="#666">{value}×</text>')
    y = TOP
    for case, bars in rows:
        out.append(f'<text x="{LEFT - 10}" y="{y + len(SHOWN) * BAR / 2 + 4:.1f}" text-anchor="end">'
                   f'{escape(case["title"])}</text>')
        for tool, color, value in bars:
            if value:
                length = max(x(value) - LEFT, 1)
                out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{color}"/>'
                           f'<text x="{LEFT + length + 5:.1f}" y="{y + BAR - 3}" fill="#333" font-size="10">'
                           f'{value:.2f}×</text>')
            y += BAR
        y += GAP
    return "\n".join(out) + "\n</svg>\n"
