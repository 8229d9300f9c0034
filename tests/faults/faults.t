#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every system call that the library makes in the life of a small program, made to fail: each one alone, and each one and
all after it. The program never notices, and what could not be recorded or written is said.

    tests/faults/faults.t [CALL...]      default: all

The library is the one in build/tests/faults (inject.c); victim.c is the program."""
import collections
import contextlib
import errno
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

FAULTY = under.program("faults/libcprof.so")
VICTIM = [under.program("faults/victim"), under.program("faults/victim_plugin.so")]
MODES = {"alone": 1, "and all after it": 1 << 40}
TIMEOUT = 30
DIRECTORY = f"/dev/shm/cprof-{os.geteuid()}"
MOST_LINES = 2  # of one process

# Number, and errors. With one that is only waited out, a call that fails for ever would be waited for for ever.
Call = collections.namedtuple("Call", "number errors settings")
PEAK, NAMES, SAMPLED = {"PEAK": "1"}, {"SYMBOLIZE": "on"}, {"RATE": "512"}
CALLS = {
    "mmap": Call(9, ["ENOMEM"], {}), "mprotect": Call(10, ["ENOMEM"], PEAK), "munmap": Call(11, ["ENOMEM"], {}),
    "madvise": Call(28, ["ENOMEM"], {}), "mremap": Call(25, ["ENOMEM"], {}),
    "openat": Call(257, ["EMFILE", "EACCES"], PEAK), "read": Call(0, ["EIO", "EINTR"], {}),
    "close": Call(3, ["EINTR", "EIO"], {}), "write": Call(1, ["ENOSPC", "EINTR"], PEAK),
    "pwrite64": Call(18, ["ENOSPC"], {}), "ftruncate": Call(77, ["EFBIG"], {}), "fstat": Call(5, ["EIO"], {}),
    "newfstatat": Call(262, ["EACCES"], {}), "rename": Call(82, ["EACCES"], PEAK),
    "unlink": Call(87, ["EACCES"], {}), "mkdir": Call(83, ["ENOSPC", "EACCES"], {}), "chmod": Call(90, ["EPERM"], {}),
    "getdents64": Call(217, ["EIO"], {}), "prlimit64": Call(302, ["EPERM"], {}), "getcwd": Call(79, ["ENOENT"], {}),
    "rt_sigprocmask": Call(14, ["EPERM"], {}), "faccessat": Call(269, ["EACCES"], {}),
    "faccessat2": Call(439, ["ENOSYS"], {}),
    "clone": Call(56, ["EAGAIN", "ENOMEM"], NAMES), "execve": Call(59, ["ENOMEM"], NAMES),
    "setsid": Call(112, ["EPERM"], NAMES), "close_range": Call(436, ["ENOSYS"], NAMES), "dup": Call(32, ["EMFILE"], NAMES),
    "pidfd_open": Call(434, ["EMFILE", "ENOSYS"], NAMES), "ppoll": Call(271, ["EINTR", "ENOMEM"], NAMES),
    "wait4": Call(61, ["EINTR", "ECHILD"], NAMES),
}

MORE = [("mmap", SAMPLED), ("mprotect", SAMPLED), ("madvise", SAMPLED)]  # the same calls, each failing alone

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")
live.adopt_orphans()

# `totals`: of each profile's comment, in a run without faults.
Run = collections.namedtuple("Run", "result pids stdout summaries totals lines injected")


def ends(settings):
    return ("pb.gz", "peak.pb.gz") if settings == PEAK else ("pb.gz",)


def wait_for_all():
    """Those that give profiles their names may go on for a while."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def run(place, settings, inject=None):
    log = place.file("log")
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    with open(log, "w", encoding="ascii"):
        pass
    extra = {"INJECT": ":".join(str(n) for n in inject), "INJECT_LOG": log} if inject else {}
    settings = {"RATE": "1", "OUT": "x.%p.pb.gz", **settings}
    result = under.run(VICTIM, settings, FAULTY, extra, cwd=place.path, timeout=TIMEOUT)
    wait_for_all()
    pids = list(dict.fromkeys(re.findall(r"^truth (\d+)", result.stdout, re.M)))
    stdout = re.sub(r"^truth (\d+)", lambda found: f"truth {pids.index(found.group(1))}", result.stdout, flags=re.M)
    injected = os.path.getsize(log)
    os.unlink(log)
    lines = collections.defaultdict(list)
    for line in result.stderr.splitlines():
        found = re.fullmatch(r"cprof\[(\d+)\]: (.+)", line)
        lines[found.group(1) if found else None].append(line)
    return Run(result, pids, stdout, summaries(place), [], lines, injected)


def summaries(place):
    """{file: what cprof check says of it}: the number of its samples and all its sums."""
    files = [place.file(name) for name in place.files() if name.endswith(".pb.gz")]
    if not files:
        return {}
    said = live.cprof("check", *files)
    text = said.stdout + said.stderr
    return {os.path.basename(file): (re.search(rf"^(?:cprof: )?{re.escape(file)}: (.*)$", text, re.M) or [None, text])[1]
            for file in files}


def truths(output, pid):
    lines = (line.split() for line in output.splitlines())
    return {fields[2]: tuple(int(number) for number in fields[3:]) for fields in lines if fields[:2] == ["truth", pid]}


def loss(path, output, pid):
    """Why the profile is not what it should be; None if what it lacks is said in its comment."""
    wanted = truths(output, pid)
    profile, found = pprof.load(path), live.figures(path, *wanted)
    comment = " ".join(profile.comments)
    said = dict(re.findall(r"(truncated|dropped|over memory limit) (\d+)", comment))
    spared = sum(int(said.get(what, 0)) for what in ("dropped", "over memory limit"))
    missing = sum(wanted[name][0] - found[name][0] for name in wanted)
    if missing > spared or any(found[name][i] > wanted[name][i] for name in wanted for i in (0, 1)):
        return f"{os.path.basename(path)}: {missing} blocks are missing, {wanted} is {found}: {comment}"
    own = [sum(sample.values[kind] for sample in profile.samples if "inherited" not in sample.labels)
           for kind in ("alloc_space", "alloc_objects")]
    if not int(said["dropped"]) and own != list(under.exact(profile)):
        return f"{os.path.basename(path)}: its sums are {own}: {comment}"
    if found != wanted and not spared and not int(said["truncated"]):
        return f"{os.path.basename(path)}: {wanted} is {found}, and does not say so: {comment}"
    return None


def faults_of(place, got, base, name, call):
    """All that is wrong after a run."""
    wrong = []
    if (got.result.returncode, got.stdout) != (base.result.returncode, base.stdout):
        return [f"status {got.result.returncode}, {got.stdout[-300:]!r}"]
    for pid, lines in got.lines.items():
        if pid not in got.pids or len(lines) > MOST_LINES or len(set(lines)) < len(lines):
            wrong.append(f"stderr: {lines[:4]}")
    silent = "not profiling" in got.result.stderr or (name == "write" and not got.result.stderr)
    # Before Linux 4.14 (no MADV_WIPEONFORK) nothing tells the library of a child that is cloned without libc.
    silent_clone = name == "madvise" and not live.segments_of(int(got.pids[-1]))
    for number, pid in enumerate(got.pids):
        for end in ends(call.settings):
            file, before = f"x.{pid}.{end}", f"x.{base.pids[number]}.{end}"
            summary = got.summaries.get(file)
            if summary is None:
                if pid not in got.lines and not live.segments_of(int(pid)) and not silent \
                        and not (silent_clone and number == 2):
                    wrong.append(f"no {file}, and no word of it")
            elif not summary.startswith("ok"):
                wrong.append(f"{file}: {summary}")
            elif call.settings == SAMPLED:
                # More if there was no memory for the record of a thread that was to count nothing while it loads the backend.
                totals = under.exact(pprof.load(place.file(file), symbolize=False))
                if any(total < least for total, least in zip(totals, base.totals[number])):
                    wrong.append(f"{file}: its totals are {totals}, should be {base.totals[number]}")
            elif summary != base.summaries[before] and end == "pb.gz":
                wrong += filter(None, [loss(place.file(file), got.result.stdout, pid)])
    names = {f"x.{pid}.{end}" for pid in got.pids for end in ends(call.settings)}
    left = set(place.files()) - names
    if left and name != "unlink":
        wrong.append(f"left in the directory: {left}")
    return wrong + recovered(place, got)


def recovered(place, got):
    """A segment that is left is one that a profile can be made of, and goes with that."""
    wrong = []
    left = live.segments()
    if not left:
        return []
    for path in left:
        pid = os.path.basename(path).split("-")[0]
        if pid not in got.pids:
            wrong.append(f"{path} is of none of these processes")
    said = live.cprof("recover", "--all", cwd=place.path)
    if said.returncode:
        wrong.append(f"recover: {said.stderr}")
    now = summaries(place)
    wrong += [f"recovered {name}: {summary}" for name, summary in now.items() if not summary.startswith("ok")]
    if live.segments():
        wrong.append(f"still in /dev/shm: {live.segments()}")
    for path in live.segments():
        os.unlink(path)
    return wrong


def sweep(name, call, error, mode, base):
    """Until none is left to fail. Returns how many runs that took, and what went wrong in them."""
    wrong, n = [], 0
    while len(wrong) < 3:
        n += 1
        with live.Place() as place:
            try:
                got = run(place, call.settings, (call.number, getattr(errno, error), n, MODES[mode]))
            except under.subprocess.TimeoutExpired:
                wrong.append(f"call {n}: still running after {TIMEOUT} s")
                continue
            found = faults_of(place, got, base, name, call)
            if found:
                wrong.append(f"call {n}: " + "; ".join(found) + f" (stderr: {got.result.stderr[:300]})")
            if not got.injected:
                break
    return n - 1, wrong


def baseline(settings):
    plain = under.plain(VICTIM)
    with live.Place() as place:
        base = run(place, settings)
        tap.equal((base.result.returncode, base.result.stderr), (plain.returncode, plain.stderr),
                  f"{settings or 'without names'}, no fault: the program is as without the library")
        tap.equal(sorted(base.summaries), sorted(f"x.{pid}.{end}" for pid in base.pids for end in ends(settings)),
                  "no fault: all profiles of each process")
        tap.ok(all(said.startswith("ok") for said in base.summaries.values()), "no fault: all valid", base.summaries)
        for pid in base.pids:
            base.totals.append(under.exact(pprof.load(place.file(f"x.{pid}.pb.gz"), symbolize=False)))
            if settings == SAMPLED:
                continue
            wanted = truths(base.result.stdout, pid)
            profile = pprof.load(place.file(f"x.{pid}.pb.gz"))
            tap.equal(live.figures(place.file(f"x.{pid}.pb.gz"), *wanted), wanted, f"no fault: process {base.pids.index(pid)}'s is exact")
            tap.ok(re.search(r"truncated 0, dropped 0, over memory limit 0;", profile.comments[0]), "no fault: and says so",
                   profile.comments)
        tap.equal(live.segments(), [], "no fault: nothing is left")
    return base


def main(chosen):
    bases = {}
    sweeps = [(name, call, error, mode) for name, call in CALLS.items() for error in call.errors for mode in MODES
              if error != "EINTR" or mode == "alone"]
    sweeps += [(name, CALLS[name]._replace(settings=settings), CALLS[name].errors[0], "alone") for name, settings in MORE]
    for name, call, error, mode in sweeps:
        if chosen and name not in chosen:
            continue
        key = str(call.settings)
        if key not in bases:
            bases[key] = baseline(call.settings)
        made, wrong = sweep(name, call, error, mode, bases[key])
        tap.ok(made > 0, f"{name} is called")
        tap.equal(wrong, [], f"{key}: {name} fails with {error}, {mode}: each of {made}")
    tap.done()


if __name__ == "__main__":
    main(sys.argv[1:])
