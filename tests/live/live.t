#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof ls, dump, recover and top: processes that sleep, spin, are stopped or wait for themselves, seen from outside
to the byte, and their profiles after they were killed."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL = under.program("live/still")
KEEP, PASS = (1000, 300000, 1000, 300000), (500, 20000, 0, 0)
TRUTH = {"keep": KEEP, "pass": PASS}
PROCESS = 6  # exit status: there is no such process, or it is not profiled, or it is alive

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def listed(pid):
    rows = json.loads(live.cprof("ls", "--json").stdout)
    return next((row for row in rows if row["pid"] == pid), None)


def check_dump(place, process, what):
    path = place.file("dump.pb.gz")
    begun = time.monotonic()
    result = live.cprof("dump", "--no-symbolize", "-o", path, process.pid)
    seconds = time.monotonic() - begun
    tap.equal((result.returncode, result.stdout, result.stderr), (0, path + "\n", ""), f"dump: {what}")
    tap.ok(seconds < 1, f"dump: {what}: within a second", f"took {seconds:.2f} s")
    tap.equal(under.check([path]), "", f"dump: {what}: a valid profile")
    tap.equal(live.figures(path, *TRUTH), TRUTH, f"dump: {what}: all figures are exact")


def check_links():
    """A name that is a link stays one, and what it points to is written, as by `cprof symbolize`."""
    with live.Place() as place:
        process = place.start([STILL, "sleep"])
        target, link = place.file("target.pb.gz"), place.file("link.pb.gz")
        with open(target, "wb"):
            os.symlink("target.pb.gz", link)
        check = {"dump": ("dump",), "recover": ("recover", "--keep")}
        for name, command in check.items():
            os.truncate(target, 0)
            if name == "recover":
                process.kill()
                process.wait()
            result = live.cprof(*command, "-o", link, process.pid)
            tap.equal((result.returncode, result.stdout, os.path.islink(link)), (0, link + "\n", True), f"{name} -o LINK")
            tap.equal((under.check([target]), live.figures(target, *TRUTH)), ("", TRUTH), f"{name}: written through it")


def check_states():
    """What is done to the process: nothing. Not even its state changes."""
    for mode, wanted in (("sleep", "S"), ("spin", "R"), ("deadlock", "S"), ("thread", "Z")):
        with live.Place() as place:
            process = place.start([STILL, mode])
            live.wait_until(lambda: live.state(process.pid) == wanted)
            check_dump(place, process, mode)
            tap.equal(live.state(process.pid), wanted, f"{mode}: as it was")
            process.kill()
    with live.Place() as place:
        process = place.start([STILL, "churn"])
        os.kill(process.pid, signal.SIGSTOP)
        live.wait_until(lambda: live.state(process.pid) == "T")
        check_dump(place, process, "stopped while its threads allocated")
        tap.equal(live.state(process.pid), "T", "stopped: still so")
        process.kill()


def check_while_it_writes():
    with live.Place() as place:
        process = place.start([STILL, "churn"])
        paths, last, sane = [], 0, True
        for i in range(10):
            path = place.file(f"{i}.pb.gz")
            paths.append(path)
            sane &= live.cprof("dump", "--no-symbolize", "-o", path, process.pid).returncode == 0
            objects, _, inuse, _ = live.figures(path, "churn_once")["churn_once"]
            sane &= objects >= last and 0 <= inuse <= objects
            last = objects
        tap.ok(sane and last > 0, "ten dumps in a row, from four threads at work, never go back")
        tap.equal(under.check(paths), "", "all of them are valid")
        process.kill()


def check_names_of_dumps():
    with live.Place() as place:
        process = place.start([STILL, "sleep"])
        names = [live.cprof("dump", process.pid, cwd=place.path).stdout.strip() for _ in range(2)]
        wanted = [f"cprof.still.{process.pid}.{n}.pb.gz" for n in (1, 2)]
        tap.equal(names, wanted, "dump without -o: numbered in this directory")
        tap.equal(live.figures(place.file(names[0]), *TRUTH), TRUTH, "with names in it")
        piped = live.cprof("dump", "-o", "-", process.pid, text=False, errors=None)
        with open(place.file("piped"), "wb") as file:
            file.write(piped.stdout)
        tap.equal(live.figures(place.file("piped"), *TRUTH), TRUTH, "dump -o -: to standard output")
        result = live.cprof("dump", "-o", place.file("no/such/x"), process.pid)
        tap.ok(result.returncode == 4 and re.fullmatch(r"cprof: .*: .*\n", result.stderr),
               "where it can't be written", result)
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait()
        tap.equal((process.returncode, live.figures(place.out(process.pid), *TRUTH)), (0, TRUTH),
                  "the process's own profile is as ever")
        tap.equal(live.segments_of(process.pid), [], "and leaves nothing behind")


def check_refusals():
    with live.Place() as place:
        plain = subprocess.Popen(["sleep", "60"], env=under.environment(preload=None))
        place.started.append(plain)
        for what, argument in (("not profiled", plain.pid), ("not there", 2 ** 22 + 5)):
            for command in (("dump",), ("top", "--once")):
                result = live.cprof(*command, argument)
                tap.ok(result.returncode == PROCESS and re.fullmatch(r"cprof: \d+: .+\n", result.stderr),
                       f"{command[0]}: a process that is {what}", result)
        process = place.start([STILL, "sleep"])
        (segment,) = live.segments_of(process.pid)
        for argument in (process.pid, segment):
            result = live.cprof("recover", argument)
            tap.ok(result.returncode == PROCESS and "alive" in result.stderr, "recover: a living one is refused",
                   result)
        result = live.cprof("recover", "--all")
        tap.equal((result.returncode, result.stdout), (0, ""), "recover --all passes over it")
        tap.equal(live.segments_of(process.pid), [segment], "and leaves it alone")
        for arguments in (("dump",), ("dump", "1", "2"), ("dump", "x"), ("recover",), ("recover", "--all", "1"),
                          ("ls", "1")):
            result = live.cprof(*arguments)
            tap.equal((result.returncode, result.stderr.count("\n")), (2, 2), f"usage: {' '.join(arguments)}")


def check_list():
    with live.Place() as place:
        process = place.start([STILL, "sleep"])
        row = listed(process.pid)
        wanted = {"state": "alive", "name": "still", "rate": 1, "inuse_space": row["inuse_space"], "complete": True,
                  "out": place.out(process.pid)}
        tap.equal({key: row[key] for key in wanted}, wanted, "ls --json: what it is")
        live.cprof("dump", "-o", place.file("d.pb.gz"), process.pid)
        sums = live.totals(place.file("d.pb.gz"))
        tap.equal({key: row[key] for key in sums}, sums, "ls --json: the figures of a dump")
        tap.ok(row["own_bytes"] > 100000, "and what memory the profiler has of its own", row["own_bytes"])
        text = live.cprof("ls").stdout
        tap.ok(re.search(rf"^ *{process.pid} still +alive +[\d.]+s +all ", text, re.M), "ls: a row", text)
        name = "a-name-that-is-longer-than-most"
        os.symlink(STILL, place.file(name))
        other = place.start([place.file(name), "sleep"])
        lines = live.cprof("ls").stdout.splitlines()
        tap.equal({line.index(word) for line, word in zip(lines, ("STATE", "alive", "alive"))},
                  {len("    PID ") + len(name) + 1}, "ls: the column of names is as wide as the longest")
        other.kill()
        other.wait()
        live.cprof("recover", "--discard", other.pid)
        process.kill()
        process.wait()
        row = listed(process.pid)
        tap.equal((row["state"], row["out"]), ("dead", place.out(process.pid)), "ls: dead, with the profile to be made")
        live.cprof("recover", "--discard", process.pid)
        tap.equal(listed(process.pid), None, "recover --discard: gone")
        tap.equal(os.path.exists(place.out(process.pid)), False, "without a profile")
    result = live.cprof("ls")
    tap.equal((result.returncode, result.stdout), (0, ""), "ls: nothing")


def check_recover():
    with live.Place() as place:
        process = place.start([STILL, "sleep"])
        process.kill()
        process.wait()
        out = place.out(process.pid)
        (segment,) = live.segments_of(process.pid)
        result = live.cprof("recover", "--keep", process.pid)
        tap.equal((result.returncode, result.stdout, result.stderr), (0, out + "\n", ""),
                  "recover: where it would have been")
        tap.equal((under.check([out]), live.figures(out, *TRUTH)), ("", TRUTH), "recover: valid and exact")
        tap.equal(live.segments_of(process.pid), [segment], "recover --keep keeps")
        with open(out, "rb") as file:
            before = file.read()
        result = live.cprof("recover", segment)
        second = place.file(f"x.{process.pid}.2.pb.gz")
        tap.equal(result.stdout, second + "\n", "recover: what was written since gets no other content")
        with open(out, "rb") as file:
            tap.ok(file.read() == before, "it is as it was")
        tap.equal(live.segments_of(process.pid), [], "recover: nothing is left behind")
        result = live.cprof("recover", process.pid)
        tap.ok(result.returncode == PROCESS and "nothing is left" in result.stderr, "recover: not a second time",
               result)


def check_recover_names():
    with live.Place() as place:
        for old, wanted, what in ((b"\x1f\x8bold", "", "a profile of a run before is replaced"),
                                  (b"text", ".2", "what is no profile is not")):
            process = place.start([STILL, "sleep"], OUT=place.file("x.pb.gz"))
            process.kill()
            process.wait()
            with open(place.file("x.pb.gz"), "wb") as file:
                file.write(old)
            os.utime(place.file("x.pb.gz"), (1, 1))
            result = live.cprof("recover", process.pid)
            tap.equal(result.stdout, place.file(f"x{wanted}.pb.gz") + "\n", f"recover: {what}")
        processes = [place.start([STILL, "sleep"], OUT=place.file("y.pb.gz")) for _ in range(3)]
        for process in processes:
            process.kill()
            process.wait()
        os.mkdir(place.file("there"))
        result = live.cprof("recover", "--all", "-o", place.file("there") + "/")
        tap.equal((result.returncode, sorted(os.listdir(place.file("there")))),
                  (0, ["y.2.pb.gz", "y.3.pb.gz", "y.pb.gz"]),
                  "recover --all -o DIRECTORY: one file each")
        tap.ok("//" not in result.stdout and set(result.stdout.splitlines()) == set(map(os.path.join, [place.file("there")] * 3,
               os.listdir(place.file("there")))), "recover -o DIRECTORY/: names with one slash", result)
        tap.equal(live.segments(), [], "recover --all: nothing is left")


def check_exec():
    with live.Place() as place:
        process = place.start([STILL, "exec"])
        before = live.segments_of(process.pid)
        time.sleep(0.05)  # for an exec within the first moments see names.t
        process.stdin.write("\n")
        process.stdin.flush()
        process.line = process.stdout.readline()
        tap.equal(live.figures(place.out(process.pid), *TRUTH), TRUTH, "exec: the first program's profile is there")
        tap.ok(len(live.segments_of(process.pid)) == 1 and len(before) == 1, "exec: one segment at a time",
               live.segments_of(process.pid))
        check_dump(place, process, "the program after an exec")
        process.kill()
        process.wait()
        result = live.cprof("recover", process.pid)
        tap.equal((result.stdout, os.path.exists(place.file(f"x.{process.pid}.2.pb.gz"))),
                  (place.out(process.pid) + "\n", True),
                  "exec, killed: the second program's profile has the name, the first one's gets a number")
        tap.equal(live.figures(place.out(process.pid), *TRUTH), TRUTH, "and is exact")


def check_leftovers():
    """What a killed process had begun to write, and segments of processes whose profile is complete."""
    with live.Place() as place:
        process = place.start([STILL, "sleep"])
        temporary = place.file(f".cprof-{process.pid}-1.tmp")
        other = place.file(".cprof-1-1.tmp")
        for path in (temporary, other):
            with open(path, "w", encoding="ascii") as file:
                file.write("half")
        process.kill()
        process.wait()
        live.cprof("recover", process.pid)
        tap.equal((os.path.exists(temporary), os.path.exists(other)), (False, True),
                  "recover: the dead process's temporary file goes, no other one's")
        process = place.start([STILL, "sleep"])
        process.kill()
        process.wait()
        (segment,) = live.segments_of(process.pid)
        with open(segment, "r+b") as file:
            file.seek(24)
            file.write((2).to_bytes(4, "little"))  # SEGMENT_WRITTEN
        tap.equal(listed(process.pid), None, "ls: a finished one is not listed")
        result = live.cprof("recover", "--all")
        tap.equal((result.returncode, result.stdout, live.segments()), (0, "", []),
                  "recover --all takes it away, no more")
        tap.equal(os.path.exists(place.out(process.pid)), False, "and makes no profile")


def check_files():
    with live.Place() as place:
        process = place.start([STILL, "sleep"])
        process.kill()
        process.wait()
        (segment,) = live.segments_of(process.pid)
        copied = place.file("copy.segment")
        subprocess.run(["cp", "--sparse=always", segment, copied], check=True)
        result = live.cprof("recover", copied)
        tap.ok(result.returncode == 2 and "-o" in result.stderr,
               "recover: a copy elsewhere may not say where to write", result)
        result = live.cprof("recover", "--keep", "-o", place.file("c.pb.gz"), copied)
        tap.equal((result.returncode, live.figures(place.file("c.pb.gz"), *TRUTH)), (0, TRUTH), "recover -o: of a copy")
        if os.geteuid() == 0:
            os.chown(copied, 12345, 12345)
            result = live.cprof("recover", "-o", place.file("d.pb.gz"), copied)
            tap.ok(result.returncode == PROCESS and "another user" in result.stderr and os.path.exists(copied),
                   "recover: another user's is not touched", result)
        else:
            tap.skip("recover: another user's is not touched", "not root")
        os.symlink(segment, place.file("link.segment"))
        result = live.cprof("recover", "-o", place.file("e.pb.gz"), place.file("link.segment"))
        tap.ok(result.returncode == 3 and "link" in result.stderr, "recover: a symbolic link", result)
        live.cprof("recover", "--discard", process.pid)


def check_other_directory():
    directory = f"/dev/shm/cprof-{os.geteuid()}"
    shutil.rmtree(directory)
    os.mkdir(directory, 0o777)
    os.chmod(directory, 0o777)
    for command in (("ls",), ("recover", "--all")):
        result = live.cprof(*command)
        tap.ok(result.returncode == 3 and "open to others" in result.stderr,
               f"{command[0]}: a directory open to others", result)
    os.rmdir(directory)
    tap.equal(live.cprof("ls").returncode, 0, "ls: no directory at all")


def check_top():
    with live.Place() as place:
        process = place.start([STILL, "deadlock"])
        result = live.cprof("top", "--once", "-n", "1", process.pid)
        rows = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
        tap.equal([row[0] for row in rows[1:]] + [rows[1][-1]], ["300000", "keep"],
                  "top --once: the first row, in full")
        result = live.cprof("top", "--once", "--sort", "alloc_objects", process.pid)
        found = re.search(r"^ *500 .* 500 +\S+ +pass$", result.stdout, re.M)
        tap.ok(found, "top --once --sort alloc_objects", result.stdout)
        result = live.cprof("top", "--once", "--cum", process.pid)
        tap.ok(re.search(r"^ *0 .* main$", result.stdout, re.M), "top --once --cum: main has nothing of its own",
               result.stdout)
        for arguments in (("--sort", "x"), ("--interval", "0")):
            tap.equal(live.cprof("top", *arguments, process.pid).returncode, 2, f"usage: top {' '.join(arguments)}")


check_links()
check_states()
check_while_it_writes()
check_names_of_dumps()
check_refusals()
check_list()
check_recover()
check_recover_names()
check_exec()
check_leftovers()
check_files()
check_top()
check_other_directory()
tap.done()
