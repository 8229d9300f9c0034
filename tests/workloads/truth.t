#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bundled workloads against what is known of them, and the profiler against the workloads.

    tests/workloads/truth.t [LIBRARY]      default: CPROF_LIB, or build/libcprof.so

Each program is run in each variant, plain and with everything recorded. Plain, the figures it prints must be those
that are published for the original, or that follow from the growth rule it copies. Profiled, it must print and
return the same, and for every `truth` line the profile must hold the same bytes and calls, and nothing in use.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402

PROGRAMS = ("message_batch", "strings", "collections", "tasks", "graph", "primes", "math")
BUILD = os.path.join(ROOT, "build", "workloads")
TIMEOUT = 120
MB = 1 << 20  # as in the published figures, except where bytes are given


def doubling(element, needed):
    """Bytes and arrays of a list that starts with room for 4 and doubles until `needed` elements fit."""
    capacities = [4]
    while capacities[-1] < needed:
        capacities.append(2 * capacities[-1])
    return element * sum(capacities), len(capacities)


# What is known to the byte: (bytes, calls) for each function that allocates.
EXACT = {
    ("message_batch", "growing"): {"build_message_batch_growing": (100 * 285376, 100 * 19)},
    ("message_batch", "preallocated"): {"build_message_batch_preallocated": (100 * 65536, 100)},
    ("collections", "go"): {
        "append_numbers_go": (41678072, 38),
        "append_evens_go": (21083384, 35),
        "append_squares_go": (21083384, 35),
    },
    ("collections", "dotnet"): {
        "append_numbers_dotnet": doubling(4, 1000000),
        "append_evens_dotnet": doubling(4, 500000),
        "append_squares_dotnet": doubling(8, 500000),
    },
    ("collections", "exact"): {
        "fill_numbers_exact": (8000000, 1),
        "fill_evens_exact": (4000000, 1),
        "fill_squares_exact": (4000000, 1),
    },
    ("tasks", "thread"): {"start_thread": (10000 * 64, 10000), "run_thread": (10000 * 32, 10000)},
    ("primes", None): {},
    ("math", None): {},
}

# Published totals: bytes, and how far off the port may be, as a share.
PUBLISHED = {
    ("strings", "concat"): (751.6 * MB, 0.0002),
    ("strings", "builder"): (3.6 * MB, 0.014),  # one digit more isn't known
    ("strings", "span"): (22.6 * 1024, 0.005),
    ("collections", "go"): (83.8e6, 0.001),
    ("collections", "dotnet"): (21e6, 0.002),
    ("tasks", "goroutine"): (0.74 * MB, 0.0068),
    ("tasks", "task"): (1.21 * MB, 0.0042),
}


def run(program, arguments, environment=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CPROF_")}
    return subprocess.run([os.path.join(BUILD, program), *arguments], env={**clean, **(environment or {})},
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)


def truth_of(output):
    """{function: (bytes, calls)}, and the other lines."""
    truth, results = {}, []
    for line in output.splitlines():
        if line.startswith("truth "):
            _, function, size, calls = line.split()
            truth[function] = (int(size), int(calls))
        else:
            results.append(line)
    return truth, results


def total(truth):
    return sum(size for size, _ in truth.values())


def check_figures(what, key, truth):
    if key in EXACT:
        tap.equal(truth, EXACT[key], f"{what}: bytes and calls as known beforehand")
    else:
        tap.ok(truth, f"{what}: says what it allocates")
    if key in PUBLISHED:
        wanted, share = PUBLISHED[key]
        tap.ok(abs(total(truth) - wanted) <= share * wanted, f"{what}: total as published",
               f"got {total(truth)}, published {wanted:.0f}")


def check_profile(what, truth, path):
    try:
        profile = pprof.load(path)
    except (OSError, pprof.Malformed) as error:
        tap.ok(False, f"{what}: leaves a profile", error)
        return
    size, calls = profile.flat("alloc_space"), profile.flat("alloc_objects")
    tap.equal({name: (size[name], calls[name]) for name in truth}, truth, f"{what}: profile shows the truth, exactly")
    used = {name: (profile.flat("inuse_space")[name], profile.flat("inuse_objects")[name]) for name in truth}
    tap.equal({name: value for name, value in used.items() if any(value)}, {}, f"{what}: nothing in use at the end")
    own = {sample.stack[0] for sample in profile.samples
           if sample.locations[0].mapping == profile.mappings[0] and sample.values["alloc_objects"]}
    tap.equal(own - set(truth), set(), f"{what}: no other function of the program allocates")
    if not truth:
        tap.equal(profile.total("alloc_objects"), 0, f"{what}: a profile of nothing")


def check_variant(program, variant, library, directory):
    """Returns the plain run's truth and other lines."""
    what, arguments = (f"{program} {variant}", [variant]) if variant else (program, [])
    plain = run(program, arguments)
    tap.ok(plain.returncode == 0 and not plain.stderr, f"{what}: runs", plain.stderr)
    truth, results = truth_of(plain.stdout)
    check_figures(what, (program, variant), truth)
    if not library:
        tap.skip(f"{what}: profiled", "the library isn't built")
        return truth, results
    path = os.path.join(directory, f"{program}.{variant}.pb.gz")
    # Names are looked up by the test itself, so that nothing touches the file any more once the program has ended.
    profiled = run(program, arguments, {"LD_PRELOAD": library, "CPROF_RATE": "1", "CPROF_OUT": path,
                                        "CPROF_SYMBOLIZE": "off"})
    tap.equal((profiled.returncode, profiled.stderr), (plain.returncode, ""), f"{what}: ends the same when profiled")
    tap.equal(profiled.stdout, plain.stdout, f"{what}: prints the same when profiled")
    check_profile(what, truth, path)
    return truth, results


def check_command_line(program, variants):
    """The options that all have in common."""
    listed = run(program, ["--list"])
    tap.equal((listed.returncode, listed.stdout.splitlines()), (0, variants), f"{program} --list")
    tap.ok(run(program, ["--help"]).stdout.startswith(f"usage: {program}"), f"{program} --help")
    for wrong in (["--no-such-option"], ["no-such-variant"], [*variants[:1], "--n"], [*variants[:1], "--n", "0x"]):
        result = run(program, wrong)
        tap.ok(result.returncode == 2 and not result.stdout and result.stderr.count("\n") == 1,
               f"{program} {' '.join(wrong)}: refused in one line", result)


def check_go_tool(path):
    """What `go tool pprof` makes of the profile of message_batch growing. Left to itself it says 27.22MB."""
    name = "go tool pprof -top -unit=kB: 27868.75kB in build_message_batch_growing"
    if not shutil.which("go"):
        tap.skip(name, "no Go here")
        return
    top = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=alloc_space", "-unit=kB", path],
                         capture_output=True, text=True, timeout=TIMEOUT, check=False)
    rows = [line.split() for line in top.stdout.splitlines()]
    flat = {row[5]: row[0] for row in rows if len(row) > 5}
    tap.ok(flat.get("build_message_batch_growing") == "27868.75kB", name, top.stdout, top.stderr)


def main():
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("CPROF_LIB")
    library = os.path.abspath(given or os.path.join(ROOT, "build", "libcprof.so"))
    if not os.path.exists(library):
        if given:
            sys.exit(f"Bail out! {given} isn't there")
        library = None
    missing = [program for program in PROGRAMS if not os.path.exists(os.path.join(BUILD, program))]
    if missing:
        sys.exit(f"Bail out! {', '.join(missing)} not built; run make")

    with tempfile.TemporaryDirectory(prefix="cprof-truth.") as directory:
        totals = {}
        for program in PROGRAMS:
            variants = run(program, ["--list"]).stdout.split()
            check_command_line(program, variants)
            all_results = []
            for variant in variants or [None]:
                truth, results = check_variant(program, variant, library, directory)
                totals[program, variant] = total(truth)
                all_results.append(results)
            tap.ok(all(results == all_results[0] for results in all_results),
                   f"{program}: the same result in every variant", *all_results)
        if library:
            check_go_tool(os.path.join(directory, "message_batch.growing.pb.gz"))
    built = total({name: value for name, value in truth_of(run("graph", ["bitmap"]).stdout)[0].items()
                   if name.startswith("graph_")})
    less = 1 - (totals["graph", "hashset"] - built) / (totals["graph", "map"] - built)
    tap.ok(0.565 <= less < 0.575, "graph: hashset allocates 57 % less than map", f"{less:.2%}")
    for operations, variant, low, high in ((10000, "goroutine", 76.5, 77.5), (10000, "task", 126.5, 127.5)):
        each = totals["tasks", variant] / operations
        tap.ok(low <= each < high, f"tasks {variant}: bytes for each operation as published", each)
    once = truth_of(run("message_batch", ["growing", "--ops", "1"]).stdout)[0]
    tap.equal(once, {"build_message_batch_growing": (285376, 19)}, "message_batch growing --ops 1")
    tap.done()


if __name__ == "__main__":
    main()
