#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way for a process to end: its profile is there when it is gone, or `cprof recover` makes it, and all figures
are exact."""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

ENDS = under.program("ends/ends")
KEEP, PASS, LATER, CHILD = (100, 100000) * 2, (50, 3200, 0, 0), (7, 77) * 2, (3, 39) * 2
NONE = (0, 0, 0, 0)

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")
live.adopt_orphans()


def run(place, arguments, prefix=(), **settings):
    process = subprocess.Popen([*prefix, ENDS, *arguments], env=place.environment(**settings), cwd=place.path,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.communicate(timeout=under.TIMEOUT)
    process.output = output + errors
    return process


def sites(path):
    found = live.figures(path, "keep", "pass", "later", "child")
    return [found[name] for name in ("keep", "pass", "later", "child")]


def check_profile(path, wanted, what):
    if not tap.ok(os.path.exists(path), f"{what}: the profile is there", path):
        return
    tap.equal((under.check([path]), sites(path)), ("", wanted), f"{what}: it is valid and exact")


def check_end(arguments, status, recovered=False, later=NONE, child=NONE):
    """`recovered`: the process can't write its profile itself."""
    what = " ".join(arguments)
    with live.Place() as place:
        process = run(place, arguments)
        tap.equal((process.returncode, process.output), (status, ""), f"{what}: ends as it would")
        out = place.out(process.pid)
        if recovered:
            tap.equal(place.files(), [], f"{what}: nothing is there at first")
            result = live.cprof("recover", process.pid)
            tap.equal((result.returncode, result.stdout, result.stderr), (0, out + "\n", ""),
                      f"{what}: it is recovered")
        check_profile(out, [KEEP, PASS, later, child], what)
        tap.equal(live.segments(), [], f"{what}: nothing is left behind")


def check_exec(how):
    with live.Place() as place:
        process = run(place, [how, "/bin/true"], OUT=place.file("x.%p.%e.pb.gz"))
        tap.equal((process.returncode, process.output), (0, ""), f"{how}: runs the other program")
        check_profile(place.file(f"x.{process.pid}.ends.pb.gz"), [KEEP, PASS, NONE, NONE], how)
        tap.equal(len(place.files()), 2, f"{how}: the other program has its own profile")
        tap.equal(live.segments(), [], f"{how}: nothing is left behind")
    with live.Place() as place:
        process = run(place, [how, "/none/such"])
        check_profile(place.out(process.pid), [KEEP, PASS, LATER, NONE], f"{how} that fails")
        tap.equal((place.files(), live.segments()), ([f"x.{process.pid}.pb.gz"], []), f"{how} that fails: one profile")
    with live.Place() as place:
        with open(place.file("odd"), "wb") as file:
            file.write(b"\x7fELF, but no more than that")
        os.chmod(place.file("odd"), 0o755)
        if how in ("execvp", "execvpe", "execlp"):
            return  # these give such a file to a shell
        process = run(place, [how, place.file("odd")])
        names = sorted(set(place.files()) - {"odd"})
        tap.equal(names, [f"x.{process.pid}.pb.gz"], f"{how} that the kernel refuses: one profile in the end")
        check_profile(place.out(process.pid), [KEEP, PASS, LATER, NONE], f"{how} that the kernel refuses")


def check_raw_exec():
    """Past the library: what it had recorded is there to be recovered, as the process is another program now."""
    with live.Place() as place:
        process = run(place, ["exec-bare", "/bin/true"])
        tap.equal(process.returncode, 0, "exec by a bare system call: runs the other program")
        result = live.cprof("recover", process.pid)
        tap.equal(result.returncode, 0, "exec by a bare system call: recovered")
        found = [sites(place.file(name)) for name in place.files()]
        tap.ok([KEEP, PASS, NONE, NONE] in found, "exec by a bare system call: exact", found)


def check_children():
    for how in ("spawn", "spawn-fails", "vfork-exec", "vfork-_exit", "clone-vm", "system"):
        with live.Place() as place:
            process = run(place, [how])
            tap.equal((process.returncode, process.output), (0, ""), f"{how}: ends as it would")
            # What the child of clone(CLONE_VM) allocates is in memory, and so in the profile, of both.
            check_profile(place.out(process.pid), [KEEP, PASS, LATER, CHILD if how == "clone-vm" else NONE], how)
            tap.equal(live.segments(), [], f"{how}: nothing is left behind")
    for how in ("clone", "fork", "fork-killed"):
        with live.Place() as place:
            process = run(place, [how])
            check_profile(place.out(process.pid), [KEEP, PASS, LATER, NONE], f"{how}: the parent's")
            if how == "fork-killed":
                live.cprof("recover", "--all")
            (of_child,) = set(place.files()) - {f"x.{process.pid}.pb.gz"}
            check_profile(place.file(of_child), [NONE, NONE, NONE, CHILD], f"{how}: the child's")
            found = live.figures(place.file(of_child), "keep", "pass", inherited=True)
            tap.equal(found, {"keep": KEEP, "pass": NONE}, f"{how}: what it inherited is labelled so")
            tap.equal(live.segments(), [], f"{how}: nothing is left behind")


def check_daemon():
    for root in (None, tempfile.mkdtemp(prefix="cprof-root.")):
        if root and os.geteuid() != 0:
            tap.skip("daemon with chroot", "not root")
            continue
        what = "daemon with chroot" if root else "daemon"
        with live.Place() as place:
            process = run(place, ["daemon", root] if root else ["daemon"])
            tap.equal((process.returncode, process.output), (0, ""), f"{what}: its first process ends as it would")
            pids = [process.pid]
            while True:
                try:
                    pid, status = os.wait()
                except ChildProcessError:
                    break
                tap.equal(status, 0, f"{what}: a process ends as it would")
                pids.append(pid)
            tap.equal(len(pids), 3, f"{what}: three processes in all")
            result = live.cprof("recover", "--all")
            tap.equal((result.returncode, result.stderr, result.stdout.count("\n")), (0, "", 1 if root else 0),
                      f"{what}: recovered is what it could not write")
            found = {pid: sites(place.out(pid)) for pid in pids}
            (daemon,) = [pid for pid in pids[1:] if found[pid][3] != NONE] or pids[-1:]
            check_profile(place.out(pids[0]), [KEEP, PASS, NONE, NONE], f"{what}: the first process's")
            check_profile(place.out(daemon), [NONE, NONE, NONE, CHILD], f"{what}: the daemon's")
            tap.ok(not root or result.stdout == place.out(daemon) + "\n",
                   f"{what}: it is the daemon's that was recovered")
            tap.equal(live.segments(), [], f"{what}: nothing is left behind")
        if root:
            os.rmdir(root)


def check_racing():
    for how in ("racing", "racing-_exit"):
        for _ in range(5):
            with live.Place() as place:
                process = run(place, [how])
                tap.equal((process.returncode, process.output), (0, ""), f"{how}: ends as it would")
                check_profile(place.out(process.pid), [KEEP, PASS, NONE, NONE], how)
                found = live.figures(place.out(process.pid), "churn_once")["churn_once"]
                tap.ok(found[0] > 0 and found[2] <= 6, f"{how}: what the others did is there as well", found)


def memory_group(limit):
    """A control group with that much memory; None, and why, if none can be made. Version 1 or 2."""
    for parent, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = f"{parent}/cprof-test-{os.getpid()}"
        if not os.path.exists(f"{parent}/cgroup.procs"):
            continue
        try:
            os.mkdir(group)
            with open(f"{group}/{file}", "r+", encoding="ascii") as setting:
                setting.write(str(limit))
            return group, ""
        except OSError as error:
            if os.path.isdir(group):
                os.rmdir(group)
            return None, str(error)
    return None, "there is no memory controller"


def check_out_of_memory():
    group, why = memory_group(64 << 20)
    if not group:
        tap.skip("killed for want of memory", why)
        return
    with live.Place() as place:
        process = run(place, ["eat"], prefix=["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec \"$0\" \"$@\""],
                      ONLY="ends")
        tap.equal(process.returncode, -signal.SIGKILL, "killed for want of memory")
        live.cprof("recover", process.pid)
        check_profile(place.out(process.pid), [KEEP, PASS, NONE, NONE], "killed for want of memory")
    os.rmdir(group)


for way in ("return", "exit", "_exit", "_Exit", "quick_exit", "syscall", "handler"):
    check_end([way], 0)
check_end(["pthread_exit"], 0, later=LATER)
check_end(["bare"], 0, recovered=True)
check_end(["abort"], -signal.SIGABRT, recovered=True)
check_end(["fault"], -signal.SIGSEGV, recovered=True)
for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGPIPE, signal.SIGXCPU):
    check_end(["raise", str(int(number))], -number, recovered=True)
check_end(["limit"], -signal.SIGABRT, recovered=True)
for way in ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat-libc", "execve-syscall",
            "execveat-syscall"):
    check_exec(way)
check_raw_exec()
check_children()
check_daemon()
check_racing()
check_out_of_memory()
tap.done()
