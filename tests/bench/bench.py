#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the profiler costs, beside its peers.

    tests/bench/bench.py [--only a,c,jq] [--tools default,rate1] [--runs N] [--quick] [--out DIRECTORY]

The same work is run under each tool in turn, in another order each round, so that what else the machine does meets all
of them; medians of the rounds are compared, and ratios are medians of the ratios within a round. Programs come from
build/ (`make bench` makes them). Writes results.json, table.md and slowdown.svg to build/bench-results/, and says which
of the targets (targets.py) are met. The exit status tells whether the work could be run, not whether targets were met.
"""
import argparse
import json
import os
import platform
import random
import sys
import time

sys.dont_write_bytecode = True
import cases  # noqa: E402
import learning  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import targets  # noqa: E402
import tools  # noqa: E402

BUILD = os.path.join(tools.ROOT, "build")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", help="letters or names of cases, comma-separated; learn: the cost of a new address")
    p.add_argument("--tools", help="names of tools, comma-separated; plain is always among them")
    p.add_argument("--runs", type=int, help="rounds, 5 (3 with --quick); slow tools take part in the first three")
    p.add_argument("--quick", action="store_true", help="less of the same work")
    p.add_argument("--library", default=os.path.join(BUILD, "libcprof.so"))
    p.add_argument("--out", default=os.path.join(BUILD, "bench-results"))
    return p.parse_args()


def measure(case, chosen, runs, rng):
    """Rounds of one case: {tool: [result of each round, or None]}, and what went wrong."""
    rounds = {t.name: [] for t in chosen}
    wrong = {}
    for i in range(runs * case.rounds):
        order = [t for t in chosen if not t.slow or i < 3]
        rng.shuffle(order)
        got = {}
        for tool in order:
            if tool.name in wrong:
                continue
            try:
                got[tool.name] = run.run(os.path.join(BUILD, "bench-programs"), case, tool)
            except run.Failed as e:
                wrong[tool.name] = str(e)
        for tool in chosen:
            rounds[tool.name].append(got.get(tool.name))
    return rounds, wrong


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, {' '.join(platform.libc_ver())}"


def main():
    o = options()
    data = os.path.join(BUILD, "bench-data")
    os.makedirs(data, exist_ok=True)
    os.makedirs(o.out, exist_ok=True)
    found, missing = tools.find(os.path.join(BUILD, "bench-programs"), os.path.abspath(o.library))
    runs = o.runs or (3 if o.quick else 5)
    rng = random.Random(os.getpid())
    everything = cases.all_cases(os.path.join(BUILD, "bench-programs"), data, o.quick)
    wanted = o.only.split(",") if o.only else None
    known = {"learn"}.union(*({c.letter, c.name} for c in everything))
    for name in wanted or []:
        if name not in known:
            sys.exit(f"bench.py: no case '{name}': there are {', '.join(sorted(known))}")
    for name in (o.tools or "").split(","):
        if name and name not in found:
            sys.exit(f"bench.py: no tool '{name}': there are {', '.join(found)}")
    titles = {t.name: {"title": t.title, "baseline": t.baseline} for t in found.values()}
    results = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "runs": runs, "quick": o.quick,
               "missing": missing, "tools": titles, "cases": {}}
    for case in everything:
        if wanted and case.letter not in wanted and case.name not in wanted:
            continue
        if case.missing:
            missing.append(f"{case.missing} (case {case.letter}): apt-get install {report.PACKAGES[case.missing]}")
            continue
        names = [t for t in case.tools if not o.tools or t in o.tools.split(",") or t == "plain"]
        chosen = [found[t] for t in names if t in found]
        print(f"# {case.letter} {case.name}: {case.title}", file=sys.stderr, flush=True)
        rounds, wrong = measure(case, chosen, runs, rng)
        for what in wrong.values():
            print(f"#   {what}", file=sys.stderr)
        results["cases"][case.name] = {"letter": case.letter, "title": case.title, "how": case.how,
                                       "rounds": rounds, "wrong": wrong}
        # After each case, so that a run that is interrupted leaves what it has.
        with open(os.path.join(o.out, "results.json"), "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    if not wanted or "learn" in wanted:
        results["learn"] = learning.measure(os.path.join(BUILD, "bench-programs"), runs)
        with open(os.path.join(o.out, "results.json"), "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    text = report.table(results) + "\n" + targets.judge(results)
    with open(os.path.join(o.out, "table.md"), "w", encoding="utf-8") as f:
        f.write(text)
    with open(os.path.join(o.out, "slowdown.svg"), "w", encoding="utf-8") as f:
        f.write(report.plot(results))
    print(text)
    return 1 if any(c["wrong"] for c in results["cases"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
