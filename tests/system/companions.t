#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sanitizers, valgrind, debuggers and tracers on a program that is being profiled: it runs as under them alone, they report
nothing that they don't report otherwise, and there is an exact profile or a line that says why not."""
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

SOURCE = os.path.join(under.ROOT, "tests", "faults", "victim.c")
VICTIM, PLUGIN = under.program("faults/victim"), under.program("faults/victim_plugin.so")
STILL = under.program("live/still")
SETTINGS = {"RATE": "1", "ONLY": "victim*,still"}
NOT_PROFILING = r"cprof\[\d+\]: not profiling: the program (is built with a sanitizer,|runs under a tool of valgrind's) .*\n"


os.environ["LSAN_OPTIONS"] = "exitcode=0"  # what a leak checker finds is not to end the program before it has ended


def without_numbers(output):
    return re.sub(r"^truth \d+", "truth", output, flags=re.M)


def reports(errors):
    """What sanitizers found, without the stacks; anything else as it is."""
    if "SUMMARY" not in errors:
        return errors
    return re.findall(r"^(?:==\d+==)?((?:SUMMARY|ERROR|WARNING).*)", errors, re.M)


def exact(place, output):
    """What is wrong with the profiles of all processes that told the truth."""
    truths = {}
    for fields in (line.split() for line in output.splitlines()):
        if fields and fields[0] == "truth":
            truths.setdefault(fields[1], {})[fields[2]] = tuple(map(int, fields[3:]))
    names = [f"x.{pid}.pb.gz" for pid in truths]
    if sorted(names) != place.files():
        return f"files {place.files()}, should be {names}"
    wrong = [under.check([place.file(name) for name in names])]
    for pid, wanted in truths.items():
        found = live.figures(place.file(f"x.{pid}.pb.gz"), *wanted)
        wrong.append("" if found == wanted else f"process {pid}: {found}, should be {wanted}")
    return "".join(wrong)


def compare(what, command, program=VICTIM, declines=False, preload=None, quiet=True):
    """`command` in front of the program and its arguments; {} in it is LD_PRELOAD's assignment. `declines`: it is not to be
    profiled. `quiet`: the tool itself says nothing."""
    def filled(value):
        return [part.replace("{}", f"LD_PRELOAD={value}") for part in command]
    plain = under.plain([*filled(""), program, PLUGIN])
    with live.Place() as place:
        result = under.run([*filled(preload or under.LIBRARY), program, PLUGIN],
                           {**SETTINGS, "OUT": place.file("x.%p.pb.gz")},
                           preload=None if any("{}" in part for part in command) else preload or under.LIBRARY,
                           extra={"CPROF_SYMBOLIZE": "on" if command[0:1] in (["strace"], ["perf"], ["valgrind"]) else "off"})
        tap.equal((result.returncode, without_numbers(result.stdout)), (plain.returncode, without_numbers(plain.stdout)),
                  f"{what}: ends as without the library, {plain.returncode}")
        if declines:
            tap.ok(re.search(NOT_PROFILING, result.stderr) and result.stderr.count("cprof[") == 1,
                   f"{what}: one line says why it is not profiled", result.stderr[-2000:])
            tap.equal(place.files(), [], f"{what}: and there is no profile")
        else:
            tap.equal(exact(place, result.stdout), "", f"{what}: the profiles are exact")
        said = re.sub(NOT_PROFILING, "", result.stderr)
        tap.ok(reports(said) == reports(plain.stderr) or not quiet, f"{what}: nothing else is said", said[-3000:])


def built(place, compiler, sanitizer):
    program = place.file(f"victim-{compiler}-{sanitizer}")
    done = under.plain([compiler, "-w", "-O0", "-g", "-D_GNU_SOURCE", f"-I{under.ROOT}", f"-fsanitize={sanitizer}", "-pthread",
                        SOURCE, "-o", program])
    return program if done.returncode == 0 else None


def check_sanitizers():
    with live.Place() as place:
        for compiler, sanitizer, declines in (("gcc", "undefined", False), ("gcc", "thread", False), ("gcc", "leak", False),
                                              ("clang", "undefined", False), ("clang", "address", True),
                                              ("clang", "thread", True), ("clang", "memory", True), ("clang", "leak", True)):
            what = f"{compiler} -fsanitize={sanitizer}"
            program = built(place, compiler, sanitizer) if shutil.which(compiler) else None
            if not program or under.plain([program, PLUGIN]).returncode != 7:
                tap.skip(what, "it can't be built, or does not run here")
                continue
            compare(what, [], program, declines)
            verdict = live.cprof("doctor", program)
            tap.equal("can't be profiled: built with a sanitizer" in verdict.stdout + verdict.stderr, declines,
                      f"{what}: cprof doctor knows")
        program = built(place, "gcc", "address")
        runtime = under.plain(["gcc", "-print-file-name=libasan.so"]).stdout.strip()
        if not program or not os.path.exists(runtime):
            tap.skip("gcc -fsanitize=address", "it can't be built")
            return
        compare("gcc -fsanitize=address, its runtime first", [], program, True, preload=f"{runtime}:{under.LIBRARY}")
        said = live.cprof("run", program)
        tap.ok(said.returncode == 125 and "built with a sanitizer" in said.stderr, "gcc -fsanitize=address: cprof run says so", said)


def check_valgrind():
    if not shutil.which("valgrind"):
        tap.skip("valgrind", "it is not there")
        return
    for tool in ("memcheck", "massif", "callgrind", "cachegrind"):
        with live.Place() as place:
            out = [] if tool == "memcheck" else [f"--{tool}-out-file={place.file('out')}"]
            compare(f"valgrind, {tool}", ["valgrind", "-q", "--error-exitcode=9", f"--tool={tool}", *out],
                    declines=tool in ("memcheck", "massif"), quiet=tool == "memcheck")


def check_tracers():
    with live.Place() as place:
        for what, command, quiet in (("strace", ["strace", "-f", "-o", place.file("log"), "env", "{}"], True),
                                     ("ltrace", ["ltrace", "-f", "-o", place.file("log"), "env", "{}"], True),
                                     ("perf", ["perf", "record", "-q", "-g", "-o", place.file("log"), "env", "{}"], False)):
            if not shutil.which(what) or under.plain([*command[:-1], "true"]).returncode != 0:
                tap.skip(what, "it is not there, or may not be used here")
                continue
            compare(what, command, quiet=quiet)


def gdb(*commands, program=(), pid=None):
    words = ["gdb", "-batch", "-nx", "-ex", "set confirm off", "-ex", "set debuginfod enabled off"]
    for command in commands:
        words += ["-ex", command]
    return under.plain([*words, *(["-p", str(pid)] if pid else []), *(["--args", *program] if program else [])])


def check_gdb():
    if not shutil.which("gdb"):
        tap.skip("gdb", "it is not there")
        return
    for what, setting in (("exec-wrapper", f"set exec-wrapper env LD_PRELOAD={under.LIBRARY}"),
                          ("environment", f"set environment LD_PRELOAD {under.LIBRARY}")):
        with live.Place() as place:
            steps = [f"set environment CPROF_{name} {value}" for name, value in
                     {**SETTINGS, "OUT": place.file("x.%p.pb.gz"), "SYMBOLIZE": "off"}.items()]
            result = gdb(*steps, setting, "break victim_thread", "run", "bt", "finish", "stepi 500", "delete", "continue",
                         program=[VICTIM, PLUGIN])
            tap.ok(re.search(r"^#0 .*victim_thread", result.stdout, re.M) and "exited with code 07" in result.stdout,
                   f"gdb, {what}: stops at a breakpoint, steps, and goes on to the program's end", result.stdout[-3000:],
                   result.stderr[-1000:])
            output = "".join(line + "\n" for line in result.stdout.splitlines() if line.startswith("truth"))
            tap.equal(exact(place, output), "", f"gdb, {what}: the profiles are exact")
    with live.Place() as place:
        process = place.start([STILL, "churn"])
        for name in ("malloc", "churn_once"):
            result = gdb(f"break {name}", "continue", "bt 3", "delete", "print (long)getpid()", "detach", pid=process.pid)
            tap.ok(re.search(rf"^#0 .*{name}", result.stdout, re.M) and f"= {process.pid}" in result.stdout,
                   f"gdb, attached: a breakpoint in {name}, a call, and detached", result.stdout[-3000:], result.stderr[-1000:])
        made = place.file("dumped.pb.gz")
        tap.equal(live.cprof("dump", "-o", made, process.pid).returncode, 0, "gdb, detached: it goes on, and can be looked at")
        before = live.totals(made)["alloc_objects"]
        time.sleep(0.1)
        live.cprof("dump", "-o", made, process.pid)
        tap.ok(under.check([made]) == "" and live.totals(made)["alloc_objects"] > before, "gdb, detached: and allocates")
        process.send_signal(signal.SIGKILL)
        process.wait()


check_sanitizers()
check_valgrind()
check_tracers()
check_gdb()
tap.done()
