# SPDX-License-Identifier: Apache-2.0
"""What the profiler is to stay within, checked against a run of bench.py.

One line of TARGETS for each: case, what is computed, a relation, the limit. Computed are
    ("ratio", tool, base, metric)          median ratio to another tool
    ("added", tool, base, metric)          median difference to another tool
    ("over", tool, other, metric)          how many times as much the other adds to nothing as the tool does
    ("value", tool, metric)                the median itself
    ("per-block", tool)                    peak above that of nothing, in bytes for each live block
Instructions are held by instructions.t."""
from stats import added, middle, ratio

LIB, CMD = "heaptrack-lib", "heaptrack"

TARGETS = [
    # The default rate: what a program pays that runs with the profiler all the time.
    ("pair", ("added", "default", "forward", "cpu"), "<=", 1),
    ("deep", ("added", "default", "forward", "cpu"), "<=", 1),
    ("jq", ("ratio", "default", "plain", "cpu_s"), "<=", 1.02),
    ("sqlite3", ("ratio", "default", "plain", "cpu_s"), "<=", 1.02),
    ("redis", ("ratio", "default", "plain", "rps"), ">=", 0.98),
    ("redis", ("ratio", "default", "plain", "cpu_s"), "<=", 1.02),
    ("python3", ("ratio", "default", "plain", "cpu_s"), "<=", 1.02),
    ("cc1", ("ratio", "default", "plain", "cpu_s"), "<=", 1.02),
    ("paths", ("added", "default", "plain", "peak_kib"), "<", 8 * 1024),
    ("threads", ("added", "default", "plain", "ns"), "<=", 20000),
    # Everything recorded.
    ("deep", ("over", "rate1", LIB, "cpu"), ">=", 10),
    ("pair", ("over", "rate1", LIB, "cpu"), ">=", 3),
    ("slots1", ("over", "rate1", LIB, "cpu"), ">=", 3),
    ("slots2", ("over", "rate1", LIB, "cpu"), ">=", 3),
    ("handoff", ("over", "rate1", LIB, "cpu"), ">=", 3),
    ("stacks", ("over", "rate1", LIB, "cpu"), ">=", 3),
    ("deep", ("over", "rate1", CMD, "ns"), ">=", 30),
    ("jq", ("over", "rate1", CMD, "wall_s"), ">=", 4),
    ("python3", ("over", "rate1", CMD, "wall_s"), ">=", 4),
    ("jq", ("over", "rate1", LIB, "cpu_s"), ">=", 1),
    ("python3", ("over", "rate1", LIB, "cpu_s"), ">=", 2.5),
    ("sqlite3", ("over", "rate1", LIB, "cpu_s"), ">=", 2.5),
    ("jq", ("ratio", "rate1", "plain", "cpu_s"), "<=", 1.25),
    ("redis", ("ratio", "rate1", "plain", "rps"), ">=", 0.85),
    ("slots2", ("scaling", "rate1"), ">=", 1.5),
    ("paths", ("per-block", "rate1"), "<=", 40),
    # heaptrack's books are kept by the process that reads what its library writes.
    ("paths", ("ratio", "rate1", LIB, "all_kib"), "<", 1),
    ("exit-stacks", ("added", "rate1", "plain", "exit_cpu_s"), "<", 0.5),
    ("exit-stacks", ("added", "rate1", "plain", "rise_kib"), "<", 64 * 1024),
]


def compute(results, name, what):
    case = results["cases"].get(name)
    if not case:
        return None
    kind, *rest = what
    if kind == "ratio":
        return ratio(case, *rest)
    if kind == "added":
        return added(case, *rest)
    if kind == "value":
        return middle(case, *rest)
    if kind == "over":
        tool, other, metric = rest
        mine, its = added(case, tool, "plain", metric), added(case, other, "plain", metric)
        return its / mine if mine and its is not None and mine > 0 else None
    if kind == "scaling":
        one, two = results["cases"].get("slots1"), case
        single, double = one and middle(one, rest[0], "ns"), middle(two, rest[0], "ns")
        return 2 * single / double if single and double else None
    if kind == "per-block":
        more, blocks = added(case, rest[0], "plain", "peak_kib"), middle(case, rest[0], "blocks")
        return more * 1024 / blocks if blocks else None
    raise ValueError(kind)


def describe(what):
    kind, *rest = what
    if kind == "ratio":
        return f"{rest[2]} of {rest[0]} / {rest[1]}"
    if kind == "added":
        return f"{rest[2]} of {rest[0]} - {rest[1]}"
    if kind == "over":
        return f"{rest[2]} added by {rest[1]} / by {rest[0]}"
    if kind == "scaling":
        return f"throughput of two threads / one, {rest[0]}"
    if kind == "per-block":
        return f"bytes of peak a live block, {rest[0]}"
    return f"{rest[1]} of {rest[0]}"


def judge(results):
    """A table of the targets that this run can tell about."""
    lines = ["| case | target | limit | measured | |", "|---|---|---|---|---|"]
    met = told = 0
    for name, what, relation, limit in TARGETS:
        got = compute(results, name, what)
        if got is None:
            continue
        good = {"<=": got <= limit, ">=": got >= limit, "<": got < limit}[relation]
        told, met = told + 1, met + good
        letter = results["cases"][name]["letter"]
        lines.append(f"| ({letter}) {name} | {describe(what)} | {relation} {limit:g} | {got:.4g} "
                     f"| {'met' if good else 'MISSED'} |")
    return "" if not told else "\n".join(lines) + f"\n\n{met} of {told} targets met.\n"
