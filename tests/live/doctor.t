#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof doctor, about programs that can be profiled and others, and cprof run, which refuses those: what they say is
what comes of it."""
import ctypes.util
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")
FAILED = 125
COMPILER = shutil.which("cc") or shutil.which("gcc") or under.bail_out("there is no compiler")
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


def clean(**extra):
    return under.environment(preload=None, extra=extra)


def doctor(*arguments, **settings):
    return live.cprof("doctor", *arguments, env=clean(**settings))


def fact(result, what):
    """What it says of one thing."""
    return [line[17:] for line in result.stdout.splitlines() if line[2:17].rstrip() == what]


def build(place, name, source, *flags):
    """The program's path; None if that can't be built here."""
    with open(place.file(f"{name}.c"), "w", encoding="ascii") as file:
        file.write(source)
    done = under.plain([COMPILER, *flags, "-o", place.file(name), place.file(f"{name}.c")])
    return place.file(name) if done.returncode == 0 else None


def check_unseen():
    with live.Place() as place:
        static = build(place, "static", "int main(void) { return 0; }\n", "-static")
        script = place.file("script")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#! {static}\n")
        os.chmod(script, 0o755)
        for path, what in ((static, "linked statically"), (script, "its interpreter")) if static else ():
            result = live.cprof("run", path, env=clean())
            tap.ok(result.returncode == FAILED and f"can't be profiled: {what}" in result.stderr, f"run: {what}",
                   result)
            result = doctor(path)
            tap.ok(result.returncode == 1 and what in result.stdout, f"doctor: {what}", result)
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            tap.skip("run: setuid", "not root")
            return
        shutil.copy(STEPS, place.file("setuid"))
        os.chmod(place.path, 0o755)
        os.chmod(place.file("setuid"), 0o4755)
        result = under.plain(["setpriv", "--reuid=12345", "--clear-groups", under.CPROF, "run", place.file("setuid")])
        if "ermission" in result.stderr:
            tap.skip("run: setuid", "another user can't get at the command here")
        else:
            tap.ok(result.returncode == FAILED and "setuid" in result.stderr, "run: setuid", result)


def check_allocator():
    source = ("#include <stddef.h>\nHOW void *malloc(size_t n) { static char b[999]; return n < 9 ? b : 0; }\n"
              "int main(void) { return malloc(1) == 0; }\n")
    with live.Place() as place:
        for how, what in (("__attribute__((visibility(\"hidden\")))", "defines malloc for itself"),
                          ("", "lets others use it")):
            result = doctor(build(place, "own", source, f"-DHOW={how}", "-fno-builtin"))
            tap.ok(result.returncode == 0 and what in result.stdout, f"doctor: {what}", result.stdout)


def check_preloaded():
    """Other allocators in LD_PRELOAD: what is said, beside what a run says of itself."""
    own = "#include <stddef.h>\nvoid *__libc_malloc(size_t);\nvoid *malloc(size_t n) { return __libc_malloc(n); }\n"
    with live.Place() as place:
        mine = build(place, "libmine.so", own, "-fno-builtin", "-shared", "-fPIC")
        harmless = build(place, "libharmless.so", "int harmless;\n", "-shared", "-fPIC")
        jemalloc = ctypes.util.find_library("jemalloc")
        for other in filter(None, (mine, jemalloc)):
            for order, said in ((f"{other}:{under.LIBRARY}", "before libcprof.so: what it serves is NOT seen"),
                                (f"{harmless}:{other} {under.LIBRARY}", "before libcprof.so: what it serves is NOT seen"),
                                (f"{under.LIBRARY}:{other}", "which is preloaded; its blocks are seen as any others"),
                                (other, "which is preloaded; its blocks are seen as any others")):
                found = fact(doctor(STEPS, LD_PRELOAD=order, CPROF_OUT=os.devnull), "allocator")
                tap.ok(len(found) == 1 and found[0].startswith(f"{other}, ") and said in found[0], f"doctor: {order}: {said}", found)
                warned = under.run([STEPS, "exit:0"], {"LOG": "warn"}, order).stderr if under.LIBRARY in order else ""
                tap.equal("malloc is served by" in warned, "NOT" in said, "and so says the library")
            found = fact(doctor(LD_PRELOAD=f"{other}:{under.LIBRARY}", CPROF_OUT=os.devnull), "allocator")
            tap.equal(["NOT seen" in line for line in found], [True], "without a program, too")
        for order in (f"{harmless}:{under.LIBRARY}", under.LIBRARY):
            tap.equal(fact(doctor(STEPS, LD_PRELOAD=order, CPROF_OUT=os.devnull), "allocator"), ["that of the C library"], f"doctor: {order}")


def check_names():
    result = doctor(STEPS)
    tap.ok(result.returncode == 0 and "can be profiled" in result.stdout and "lines and inlined" in result.stdout,
           "doctor: a program with debug information", result.stdout)
    with live.Place() as place:
        subprocess.run(["strip", "-o", place.file("stripped"), STEPS], check=True)
        tap.ok("stripped" in fact(doctor(place.file("stripped")), "names")[0], "doctor: a stripped one")
    tap.equal(live.cprof("run", "--explain", "--rate", "7", STEPS, env=clean()).stdout,
              doctor(STEPS, CPROF_RATE="7").stdout, "run --explain says the same")


# Built without frame pointers: middle() keeps its argument in a register over the call, in rbp or another one.
DEEP = """#include <stdlib.h>
void *kept[99];
__attribute__((noinline)) void leaf(long n) { kept[n] = malloc(100 + n); }
__attribute__((noinline)) long middle(long n) { leaf(n); return n ? middle(n - 1) + (kept[n] != 0) : 1; }
int main(void) { return middle(9) == 0; }
"""
# Functions long enough to matter, for what has tables only in a part.
MORE = "".join(f"long more{i}(long n) {{ " + "n = n * 3 + (n >> 1) + (n ^ 12345); " * 9 + "return n; }\n" for i in range(40))


def cut(place, program):
    """Of each of its stacks, whether it was cut; those of the same frames are one."""
    path = place.file("deep.pb.gz")
    under.run([program], {"RATE": "1", "OUT": path})
    return ["[truncated]" in sample.stack for sample in pprof.load(path).samples if "leaf" in sample.stack]


def check_stacks():
    """What is said of stacks, beside what becomes of them."""
    with live.Place() as place:
        flags = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"]
        for linking in ([], ["-no-pie"]):
            program = build(place, "deep", DEEP, *flags, *linking)
            tap.equal((fact(doctor(program), "stacks"), cut(place, program)), (["whole (it has unwind tables)"], [False] * 10),
                      f"doctor: stacks are whole, and so they are {linking}")
            program = build(place, "deep", DEEP, *flags, *linking, *NO_TABLES)
            said = fact(doctor(program), "stacks")[0]
            tap.ok(said.startswith("NOT whole") and "[truncated]" in said, f"doctor: the code has no tables {linking}", said)
            tap.equal(cut(place, program), [True], "and stacks are cut")
            subprocess.run(["strip", program], check=True)
            tap.equal(fact(doctor(program), "stacks"), [said], "stripped: the same is said")
        for least, most, tables, none in ((60, 95, "more", "deep"), (5, 40, "deep", "more")):
            objects = {"deep": DEEP, "more": MORE}
            for name, text in objects.items():
                build(place, f"{name}.o", text, "-c", *flags, *(NO_TABLES if name == none else []))
            subprocess.run([COMPILER, "-o", place.file("both"), place.file("deep.o"), place.file("more.o")], check=True)
            said = fact(doctor(place.file("both")), "stacks")[0]
            share = int(said.split(" in ")[1].split(" %")[0]) if said.startswith("whole in ") else -1
            tap.ok(least < share < most and "[truncated]" in said, f"doctor: tables for {tables}, none for {none}", said)
        tiny = "int main(void) { return 0; }\n"
        said = [fact(doctor(build(place, "tiny", tiny, *options)), "stacks")[0][:9] for options in ([], NO_TABLES)]
        tap.equal(said, ["whole (it", "NOT whole"], "doctor: what libc and the compiler bring along is not taken for the program")


def complaints(text):
    return sorted(re.sub(r"^cprof\[\d+\]: ", "", line) for line in text.splitlines())


def check_complaints():
    """What the library says of settings is said beforehand, in the same words."""
    for settings in ({"RATE": "banana", "FOO": "1", "DEPTH": "0"}, {"OUT": "x" * 4096}, {"LOG": "info"},
                     {"START": "maybe", "RATE": "1"}, {"DROP_FRAMES": "(?!x)", "RATE": "1"}, {"DROP_FRAMES": "x"}):
        with live.Place() as place:
            given = {f"CPROF_{name}": value for name, value in settings.items()}
            result = live.cprof("doctor", STEPS, env=clean(**given), cwd=place.path)
            left = place.files()
            said = under.run([STEPS], {"SYMBOLIZE": "on", **settings}, cwd=place.path).stderr
            tap.equal((sorted(fact(result, "complaint")), result.returncode), (complaints(said), 0),
                      f"doctor: what the library says of {', '.join(settings)}")
            tap.equal((left, result.stderr), ([], ""), "and nothing is left behind")


def check_obstacles():
    """With settings of which nothing would come: the first line says so, the exit status, and a run with them."""
    with live.Place() as place:
        os.mkdir(place.file("sub"))
        os.symlink(STEPS, place.file("other-name"))
        script, by_env = place.file("script"), place.file("by-env")
        for path, line in ((script, "/bin/sh"), (by_env, "/usr/bin/env sh")):
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!{line}\n:\n")
            os.chmod(path, 0o755)
        shell = os.path.basename(os.path.realpath("/bin/sh"))
        good = place.file("x.%p.pb.gz")
        for program, settings, obstacle in (
                (STEPS, {"RATE": "0"}, "CPROF_RATE=0"), (STEPS, {"RATE": "0K"}, "CPROF_RATE=0K"), (STEPS, {"RATE": "1"}, None),
                (STEPS, {"ONLY": "other,st"}, "CPROF_ONLY=other,st does not match its name, steps"),
                (STEPS, {"ONLY": "other,,st?p[s]"}, None),
                (place.file("other-name"), {"ONLY": "steps"}, "its name, other-name"),
                (place.file("other-name"), {"ONLY": "other*"}, None), (script, {"ONLY": "script"}, f"its name, {shell}"),
                (script, {"ONLY": shell}, None), (by_env, {"ONLY": "sh"}, None),
                (STEPS, {"OUT": "/none/x.pb.gz"}, "/none/x.pb.gz: No such file or directory"),
                (STEPS, {"OUT": place.file("no-%e/x.pb.gz")}, "No such file or directory"),
                (STEPS, {"OUT": place.file("s%%/x.pb.gz")}, "No such file or directory"),
                (STEPS, {"OUT": place.file("script/x.pb.gz")}, "Not a directory"),
                (STEPS, {"OUT": place.file("sub")}, "Is a directory"), (STEPS, {"OUT": place.file("sub/")}, "Is a directory"),
                (STEPS, {"OUT": place.file("sub/x")}, None), (STEPS, {"OUT": place.file("s%%")}, None),
                (STEPS, {"OUT": os.devnull}, None)):
            with live.Place() as here:
                given = {"OUT": good, **settings}
                result = doctor(program, **{f"CPROF_{name}": value for name, value in given.items()})
                first = result.stdout.splitlines()[0]
                expected = (1, f"{program}: not with these settings: ") if obstacle else (0, f"{program}: can be profiled")
                tap.ok((result.returncode, first[:len(expected[1])]) == expected and (obstacle or "") in first,
                       f"doctor: {settings}: {obstacle or 'fine'}", result)
                before = place.files(), os.listdir(place.file("sub"))
                under.run([program], given, cwd=here.path)
                after = place.files(), os.listdir(place.file("sub"))
                tap.equal(before != after, not obstacle and given["OUT"] != os.devnull, "and so it is")
                for name in set(after[0]) - set(before[0]):
                    os.remove(place.file(name))
    for kib, fine in ((60000, False), (120000, True)):
        result = under.plain(["sh", "-c", f"ulimit -v {kib}; exec {under.CPROF} doctor {STEPS}"])
        ran = under.run(["sh", "-c", f"ulimit -v {kib}; exec {STEPS} exit:0"], {"ONLY": "steps"})
        tap.ok((result.returncode, "not with these settings" in result.stdout) == ((0, False) if fine else (1, True))
               and ("ulimit -v is 60000" in result.stdout) != fine, f"doctor: ulimit -v {kib}: {'fine' if fine else 'too little'}", result)
        tap.equal("not profiling: the address space" in ran.stderr, not fine, "and so it is")
    result = doctor(CPROF_RATE="0")
    tap.ok(result.returncode == 1 and result.stdout.startswith("here: not with these settings: "),
           "doctor without a program", result)


def check_library():
    """Without its library, or with half of it, the first line says so as well."""
    with live.Place() as place:
        shutil.copy(under.CPROF, place.file("cprof"))
        for what in ("the library isn't there", "libcprof-backend.so isn't there"):
            for command in (["doctor"], ["run", "--explain"]):
                result = under.plain([place.file("cprof"), *command, STEPS])
                lines = result.stdout.splitlines()
                tap.ok(result.returncode == 1 and lines[0].startswith(f"{STEPS}: can't be profiled: ") and what in lines[0]
                       and "NOT usable" in fact(result, "library")[0], f"{' '.join(command)}: {what}", result)
            result = under.plain([place.file("cprof"), "run", STEPS])
            tap.ok(result.returncode == FAILED and what in result.stderr, f"run: {what}", result)
            shutil.copy(under.LIBRARY, place.path)
        shutil.copy(under.BACKEND, place.path)
        result = under.plain([place.file("cprof"), "doctor", STEPS], cwd=place.path)
        tap.ok(result.returncode == 0 and result.stdout.startswith(f"{STEPS}: can be profiled\n"), "with all of it", result)


for check in (check_unseen, check_allocator, check_preloaded, check_names, check_stacks, check_complaints, check_obstacles, check_library):
    check()
tap.done()
