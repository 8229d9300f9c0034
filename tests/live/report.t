#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cprof run says at its end: whose profiles there are, how much was allocated, and what may be in use. And cprof ls,
which says the same while it runs."""
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS, STILL = under.program("system/steps"), under.program("live/still")
live.private_shm("1G")  # if that can't be had the other segments do no harm
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
LINE = re.compile(r"cprof: (?P<program>[^ ]+): (?P<allocated>\S+B) allocated in (?P<objects>\d+) blocks, "
                  r"(?P<about>about )?(?P<in_use>\S+B) in use at the end: go tool pprof (?P<path>.*)")
UNITS = ["B", "kB", "MB", "GB"]


def run(*arguments, **options):
    options = {"capture_output": True, "text": True, "timeout": under.TIMEOUT, "check": False,
               "stdin": subprocess.DEVNULL, **options}
    environment = under.environment(preload=None, extra={"CPROF_SYMBOLIZE": "off", **options.pop("extra", {})})
    return subprocess.run([under.CPROF, "run", *arguments], env=environment, **options)


def size(value, error=0.0):
    """A size as it is to be written, if it may be `error` off: to the place of the error's first digit."""
    unit = 0
    while value >= 1024:
        value, error, unit = value / 1024, error / 1024, unit + 1
    step = 10 ** math.floor(math.log10(error)) if error else 0
    if step >= 1:
        return f"{round(value / step) * step:.0f}{UNITS[unit]}"
    return f"{value:.{0 if unit == 0 else 1 if step > 0.05 else 2}f}{UNITS[unit]}"


def error_in_use(profile):
    """One standard error of inuse_space: a block of s bytes that was sampled stands for w, and adds w (w - 1) s^2."""
    variance = 0
    for sample in profile.samples:
        if sample.values["inuse_objects"]:
            block = sample.values["inuse_space"] / sample.values["inuse_objects"]
            weight = 1 / -math.expm1(-block / profile.period)
            variance += sample.values["inuse_objects"] * (weight - 1) * block * block
    return math.sqrt(variance)


def check_lines(place):
    """Each line by the profile that it names."""
    for rate in ("1", "4K", "512K"):
        result = run("-r", rate, "-o", place.file(f"{rate}.pb.gz"), STEPS, "keep_a:1000:9000", "fork", "keep_b:3000:500",
                     extra={"CPROF_SEED": "7"})
        lines = [LINE.fullmatch(line) for line in result.stderr.splitlines()]
        tap.ok(len(lines) == 2 and all(lines), f"rate {rate}: a line for parent and child", result.stderr)
        for found, who in zip(filter(None, lines), ("parent", "forked child")):
            profile = pprof.load(found["path"], symbolize=False)
            exact = under.exact(profile)
            tap.equal((found["program"], found["allocated"], int(found["objects"])), ("steps", size(exact[0]), exact[1]),
                      f"rate {rate}, {who}: what it allocated itself, to the last digit")
            in_use = profile.total("inuse_space")
            tap.equal((bool(found["about"]), found["in_use"]),
                      (rate != "1", size(in_use, error_in_use(profile) if rate != "1" else 0)),
                      f"rate {rate}, {who}: what is in use, with the digits that an estimate has")


MOMENT = r"after \d+\.\d s"


def check_moments(place):
    """Profiles from before the end are not said to be of the end: there is one line of them."""
    steps = [step for i in range(3) for step in (f"keep_a:100:{10 + i}", "sleep:300")]
    for count in (1, 3):
        out = place.file(f"{count}.pb.gz")
        result = run("-r", "1", "--interval", "200ms", "-o", out, STEPS, *steps[: 2 * count], "keep_b:10:1")
        names = [name for name in place.files() if re.fullmatch(rf"{count}\.\d+\.pb\.gz", name)]
        tap.equal(len(names), count, f"--interval: {count} profiles before the end")
        earlier = (f"one before that, {MOMENT}: {re.escape(place.file(f'{count}.1.pb.gz'))}" if count == 1 else
                   f"{count} before that, {MOMENT} to \\d+\\.\\d s: {re.escape(place.file(f'{count}.1.pb.gz'))} to "
                   f"{re.escape(place.file(f'{count}.{count}.pb.gz'))}")
        lines = result.stderr.splitlines()
        tap.ok(len(lines) == 2 and LINE.fullmatch(lines[0]) and LINE.fullmatch(lines[0])["path"] == out and
               re.fullmatch(f"cprof: and {earlier}", lines[1]), f"--interval: the end's, and {count} before it", result.stderr)
    out = place.file("goes_on.pb.gz")
    result = run("-r", "1", "--interval", "200ms", "--only", "steps", "-o", out, "sh", "-c",
                 f"{STEPS} keep_a:100:10 sleep:300 keep_a:100:10 sleep:60000 < /dev/null > /dev/null 2>&1 & echo $!; sleep 0.9",
                 timeout=20)
    pid = int(result.stdout.split()[0])
    tap.ok(re.match(rf"cprof: steps: \S+ allocated in \d+ blocks, \S+ in use {MOMENT}: go tool pprof \S+\.1\.pb\.gz\n"
                    r"cprof: 1 of its processes is still running", result.stderr),
           "a process that goes on: its profile is as of then, not of the end", result.stderr)
    os.kill(pid, signal.SIGKILL)
    live.wait_until(lambda: live.state(pid) in (None, "Z"))
    live.cprof("recover", "--discard", pid)


def check_nothing(place):
    """Why there is no profile, where that was to be seen before."""
    for what, arguments, more, why in (
            ("-r 0", ["-r", "0"], {}, ": with CPROF_RATE=0 nothing is recorded"),
            ("CPROF_RATE=0", [], {"CPROF_RATE": "0"}, ": with CPROF_RATE=0 nothing is recorded"),
            ("--only", ["--only", "other"], {}, ": CPROF_ONLY=other does not match its name, steps")):
        result = run(*arguments, "-o", place.file("none.pb.gz"), STEPS, "keep_a:10:10", extra=more)
        tap.equal((result.returncode, result.stderr),
                  (0, f"cprof: no profile was written{why}\n"), f"no profile: {what}")
    result = run("-o", "/dev/null", STEPS, "keep_a:10:10")
    tap.equal((result.returncode, result.stderr), (0, ""), "one that went to a device is not missed")


def check_incomplete(place):
    """What is in use of blocks beyond the memory limit is not known."""
    for rate, about in (("1", ""), ("64", "about ")):
        path = place.file(f"limit{rate}.pb.gz")
        result = run("-r", rate, "-o", path, STEPS, "sizes:30000", "keep_a:100:5000", extra={"CPROF_MAX_MEMORY": "1M"})
        tap.ok(re.fullmatch(rf"cprof: steps: \S+ allocated in 35\d+ blocks, at least {about}\S+ in use at the end: .*\n"
                            rf"cprof: {path}: its records are incomplete, the memory limit was reached; see "
                            r"CPROF_MAX_MEMORY\n", result.stderr),
               f"rate {rate}: over the memory limit, what is in use is said to be at least that", result.stderr)


def check_peak(place):
    result = run("-r", "1", "--peak", "-o", place.file("x.pb.gz"), STEPS, "hold:1000:900", "release", "keep_a:10:1")
    found = re.fullmatch(rf"cprof: steps: .* in use at the end: go tool pprof {place.path}/x\.pb\.gz\n"
                         rf"cprof: steps: (\S+) in use at the peak: go tool pprof {place.path}/x\.peak\.pb\.gz\n",
                         result.stderr)
    tap.ok(found, "--peak: what was in use at the peak, in the profile of that", result.stderr)
    tap.equal((place.files(), found and found[1]),
              (["x.pb.gz", "x.peak.pb.gz"], size(live.totals(place.file("x.peak.pb.gz"))["inuse_space"])), "is what it says")


def check_empty(place):
    result = run("-r", "1G", "-o", place.file("x.pb.gz"), STEPS, "keep_a:10:1")
    tap.equal(result.stderr, f"cprof: no sample in {place.file('x.pb.gz')}; --rate 1 records every allocation\n",
              "an empty profile: named, with what to do")
    script = f"true | {shutil.which('sed')} p; {STEPS} keep_a:1000000:16; {shutil.which('true')}"
    seed = {"CPROF_SEED": "7"}  # with which no sample falls into what is small
    result = run("-r", "512K", "-o", place.file("y.%p.pb.gz"), "sh", "-c", script, extra=seed)
    lines = result.stderr.splitlines()
    tap.ok(len(lines) == 2 and (found := LINE.fullmatch(lines[0])) and found["program"] == "steps" and
           re.fullmatch(r"cprof: and [2-9] profiles without a sample, of processes that allocated little; --only .*",
                        lines[1]), "a script: empty profiles are counted only, with what to do about them", result.stderr)
    result = run("--only", "steps", "-r", "512K", "-o", place.file("z.%p.pb.gz"), "sh", "-c", script, extra=seed)
    tap.ok(result.stderr.count("\n") == 1, "which helps", result.stderr)


def check_ls(place):
    process = place.start([STILL, "sleep"], RATE="4K", SEED="7")
    live.cprof("dump", "-o", place.file("dump.pb.gz"), process.pid)
    profile = pprof.load(place.file("dump.pb.gz"), symbolize=False)
    row = re.search(rf"^ *{process.pid} still .*", live.cprof("ls").stdout, re.M)
    in_use = size(profile.total("inuse_space"), error_in_use(profile))
    tap.ok(row and f"≈{in_use}" in row[0].split(), f"ls: about {in_use} in use, with the digits that it has", row and row[0])
    exact = place.start([STILL, "sleep"])
    limited = place.start([STEPS, "sizes:30000", "say:done", "sleep:60000"], MAX_MEMORY="1M")
    lines = live.cprof("ls").stdout.splitlines()
    marks = {int(line.split()[0]): line.split()[6][0] for line in lines[1:]}
    tap.equal({pid: mark if mark in "≈≥" else "" for pid, mark in marks.items()},
              {process.pid: "≈", exact.pid: "", limited.pid: "≥"},
              "ls: what is an estimate and what is at least that are told from what is exact")
    tap.equal(len({re.match(r"(\s*\S+){7}", line).end() for line in lines[1:]} | {lines[0].index("IN USE") + 6}), 1,
              "and stand in one column")


def check_refused(place):
    """What can't be written to is said before the program runs, in one line."""
    mark, file = place.file("ran"), place.file("file")
    open(file, "w", encoding="ascii").close()
    result = run("--explain", "-o", place.file("none/x"), "true")
    tap.ok(result.returncode == 125 and "no profile can be written" in result.stderr, "--explain says so as well", result)
    for out, why in ((place.file("none/x"), "No such file or directory"), (place.file("none/"), "No such file or directory"),
                     (os.path.join(file, "x.pb.gz"), "Not a directory"), ("/proc/sys/x", "ermission|Read-only")):
        for arguments, extra, name in ((("-o", out), {}, "--output"), ((), {"CPROF_OUT": out}, "CPROF_OUT")):
            result = run("-q", *arguments, "touch", mark, extra=extra)
            tap.ok(result.returncode == 125 and not os.path.exists(mark) and
                   re.fullmatch(rf"cprof: {name}: no profile can be written to \S+: .*({why}).*\n", result.stderr),
                   f"{name} {os.path.relpath(out, place.path)}: refused", result)


def check_directory(place):
    """A directory stands for the usual name in it."""
    os.mkdir(place.file("100%"))
    os.mkdir(place.file("one"))
    for how, where in (("profiles", "profiles"), ("others/", "others"), (".", "."), ("100%", "100%"), ("%e/", "steps")):
        os.makedirs(place.file(where), exist_ok=True)
        result = run("-r", "1", "-o", how, STEPS, "keep_a:10:1", cwd=place.path)
        found = LINE.fullmatch(result.stderr.strip())
        tap.ok(found and re.fullmatch(rf"{where}/cprof\.steps\.\d+\.pb\.gz", found["path"]), f"-o {how}", result.stderr)
    said = [run("-r", "1", "-o", "one/%p.pb.gz", STEPS, "keep_a:10:1", cwd=place.path).stderr for _ in range(20)]
    tap.equal([text.count("\n") for text in said], [1] * 20, "of runs in quick succession each tells of its own profile")
    where = place.file("of %p*")
    os.makedirs(os.path.join(where, "below"))
    result = run("-r", "1", "-o", "x.%p.pb.gz", "sh", "-c",
                 f"cd below; {STEPS} keep_a:10:1; {STEPS} keep_a:10:1 raise:9; true", cwd=where)
    lines = [LINE.fullmatch(line) for line in result.stderr.splitlines() if line.startswith("cprof: ")]
    tap.ok(len(lines) == 3 and all(lines) and os.listdir(os.path.join(where, "below")) == [] and
           sorted(line["path"] for line in lines) == sorted(set(os.listdir(where)) - {"below"}),
           "those started in another directory put theirs beside the others", result)
    result = run("-q", "-o", os.devnull, STEPS, "say:x")
    tap.equal(under.outcome(result), (0, "x\n", ""), "a device is written to as it is")


def recovered(place, said):
    """Follows the advice, and returns the program's figures."""
    found = re.findall(r"(\S+): [Nn]o space left on device; the records are kept: `cprof recover -o DIR (\d+)`", said)
    tap.ok(len(found) == 1 and said.count("\n") == 1, "one line says that it can't be written, and what to do", said)
    made = live.cprof("recover", "-o", place.file("made"), found[0][1] if found else 0)
    tap.equal((made.returncode, made.stdout), (0, place.file("made/x.pb.gz\n")), "which does it")
    figures = live.figures(place.file("made/x.pb.gz"), "keep_a")["keep_a"]
    os.unlink(place.file("made/x.pb.gz"))
    return figures


def check_full(place):
    """No room for the profile: the process says so if it can, otherwise cprof run does."""
    for name in ("full", "made"):
        os.mkdir(place.file(name))
    try:
        live.mount("cprof-test", place.file("full"), "tmpfs", 0, "size=8k")
    except OSError:
        tap.skip("a full disk", "can't be mounted here")
        return
    with open(place.file("full/other"), "wb", buffering=0) as other:
        other.write(bytes(8192))
    out, work = place.file("full/x.pb.gz"), "keep_a:1000:10"
    for what, more, status in (("the program says it", [], 0), ("with its standard error closed", ["close:2"], 0),
                               ("killed", [f"raise:{int(signal.SIGKILL)}"], -signal.SIGKILL)):
        result = run("-r", "1", "-o", out, STEPS, work, *more)
        tap.equal((result.returncode, recovered(place, result.stderr)), (status, (10, 10000, 10, 10000)), f"full: {what}")
        tap.equal(live.segments(), [], f"full: {what}: nothing is left behind")
    result = run("--only", "steps", "-r", "1", "-o", out, "sh", "-c", f"{STEPS} {work} close:2; " * 14)
    lines = result.stderr.splitlines()
    tap.ok(len(lines) == 11 and len({line.split("`")[1] for line in lines[:10]}) == 10 and
           lines[-1].startswith("cprof: and 4 more that could not be written"), "full: not without end", result.stderr)
    live.cprof("recover", "--all", "--discard")
    live.unmount(place.file("full"))


for check in (check_refused, check_full, check_directory, check_lines, check_moments, check_nothing, check_incomplete, check_peak, check_empty, check_ls):
    with live.Place() as PLACE:
        check(PLACE)
tap.done()
