#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof run stands in for the program: what is done to the one happens to the other."""
import os
import pty
import re
import resource
import select
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

STEPS = under.program("system/steps")
STANDIN = under.program("live/standin")
STILL = under.program("live/still")
TRUTH = {"keep": (1000, 300000) * 2, "pass": (500, 20000, 0, 0)}
FAILED, CANNOT, MISSING = 125, 126, 127
live.private_shm("1G")  # if that can't be had the other segments do no harm
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def command(*arguments):
    return [under.CPROF, "run", *arguments]


def clean(**extra):
    return under.environment(preload=None, extra={"CPROF_SYMBOLIZE": "off", **extra})


def run(*arguments, **options):
    options = {"capture_output": True, "text": True, "timeout": under.TIMEOUT, "check": False, "env": clean(),
               "stdin": subprocess.DEVNULL, **options}
    return subprocess.run(command(*arguments), **options)


def check_status():
    with live.Place() as place:
        for status in (0, 1, 2, 125, 255):
            result = run("-q", "-r", "1", STEPS, "say:hello", f"exit:{status}", cwd=place.path)
            tap.equal(under.outcome(result), (status, "hello\n", ""), f"exit status {status}")
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGUSR1, signal.SIGPIPE):
            result = run("-q", "sh", "-c", f"kill -{int(number)} $$", cwd=place.path)
            tap.equal(result.returncode, -number, f"killed by {number.name}, it ends by {number.name}")
        tap.equal([name for name in place.files() if name.startswith("core")], [], "no core is dumped")
        tap.equal(live.segments(), [], "nothing is left behind")
    # The line names the option, and what can be given is what the library says of the setting.
    for option, value, setting in (("--rate", "x", "RATE"), ("-r", "2T", "RATE"), ("--depth", "0", "DEPTH"),
                                   ("--depth", "1025", "DEPTH"), ("--interval", "soon", "INTERVAL"),
                                   ("--interval", "5d", "INTERVAL"), ("--only", "", "ONLY"), ("-o", "", "OUT"),
                                   ("-o", "x" * 4096, "OUT")):
        result = run(option, value, "ls")
        with live.Place() as place:
            said = under.run([STEPS], {setting: value}, cwd=place.path).stderr
        accepted = re.search(r"can't be read: give (.*); the default is used\n", said)
        name = {"-r": "--rate", "-o": "--output"}.get(option, option)
        tap.ok(result.returncode == FAILED and accepted and result.stderr.splitlines()[0] ==
               f"cprof: {name}: '{value[:100]}' can't be read: give {accepted[1]}",
               f"run {option} {value[:9]}: says what can be given", result, said)
    for value in ("512k", "1T", "0", "524288"):
        result = run("-q", "--rate", value, "-o", os.devnull, STEPS)
        tap.equal(under.outcome(result), (0, "", ""), f"run --rate {value}: as the library takes it")
    for arguments, status in ((["/none/such"], MISSING), (["no-such-program"], MISSING), (["/etc/passwd"], CANNOT),
                              (["/"], CANNOT), (["--bad", "ls"], FAILED), ([], FAILED)):
        result = run(*arguments)
        tap.ok(result.returncode == status and result.stdout == "" and re.match(r"cprof: .+: .+\n", result.stderr),
               f"run {' '.join(arguments)}: {status}", result)
    result = run("ls", env=clean(CPROF_LIB="/none/lib.so"))
    tap.ok(result.returncode == FAILED and "CPROF_LIB" in result.stderr, "no library", result)


def check_profile():
    with live.Place() as place:
        result = run("-r", "1", "-o", place.file("p.%e.pb.gz"), "--depth", "64", "--", STILL, input="\n", stdin=None)
        out = place.file("p.still.pb.gz")
        tap.equal((result.returncode, result.stdout, place.files()), (0, "ready\n", ["p.still.pb.gz"]),
                  "leaves a profile")
        tap.equal((under.check([out]), live.figures(out, *TRUTH)), ("", TRUTH), "that is valid and exact")
        sums = live.totals(out)
        tap.ok(re.fullmatch(rf"cprof: still: [\d.]+kB allocated in {sums['alloc_objects']} blocks, .*: go tool pprof {out}\n",
                            result.stderr), "and says so, with how to read it", result.stderr)
        result = run("-r", "1", STEPS, "keep_a:10:1", cwd=place.path)
        tap.ok(re.search(r"pprof cprof\.steps\.\d+\.pb\.gz\n$", result.stderr), "the default name, in this directory",
               result.stderr)
    with live.Place() as place:
        run("-q", "-r", "1", "-o", place.file("x.pb.gz"), "sh", "-c", f"exec nice env {STEPS} keep_a:1000:10")
        tap.equal(live.figures(place.file("x.pb.gz"), "keep_a")["keep_a"][:2], (10, 10000),
                  "-o: the program that shell, nice and env end in has the name")
    with live.Place() as place:
        run("-q", "--only", "steps", "-r", "1", "-o", place.file("x.%p.pb.gz"), "sh", "-c",
            f"{STEPS} keep_a:10:1; true")
        tap.equal(len(place.files()), 1, "--only: the shell is left out")
    result = run("-q", "sh", "-c", "echo $LD_PRELOAD", env=clean(LD_PRELOAD="/none/other.so", CPROF_OUT=os.devnull))
    tap.equal(result.stdout, f"{os.path.realpath(under.LIBRARY)}:/none/other.so\n",
              "in front of what is preloaded already")
    with live.Place() as place:
        shutil.copy(under.CPROF, place.file("cprof"))
        os.mkdir(place.file("sp ace"))
        shutil.copy(under.LIBRARY, place.file("sp ace/libcprof.so"))
        result = run("ls", env=clean(CPROF_LIB=place.file("sp ace/libcprof.so")))
        tap.ok(result.returncode == FAILED and "space" in result.stderr, "a path that LD_PRELOAD can't have", result)
        result = subprocess.run([place.file("cprof"), "run", "ls"], env=clean(), capture_output=True, text=True,
                                check=False)
        tap.equal(result.returncode, FAILED, "no library beside the command")
        os.makedirs(place.file("lib"))
        os.makedirs(place.file("bin"))
        for source, target in ((under.CPROF, "bin/cprof"), (under.LIBRARY, "lib/libcprof.so"),
                               (under.BACKEND, "lib/libcprof-backend.so")):
            shutil.copy(source, place.file(target))
        result = subprocess.run([place.file("bin/cprof"), "run", "-q", "-o", place.file("out.pb.gz"), "true"],
                                env=clean(),
                                capture_output=True, text=True, check=False)
        tap.equal((under.outcome(result), os.path.exists(place.file("out.pb.gz"))), ((0, "", ""), True),
                  "as it is installed: bin and lib")


def check_killed():
    """Processes that were killed have their profiles, whoever killed them."""
    with live.Place() as place:
        out = place.file("x.%p.pb.gz")
        said = place.file("said")
        script = f"{STILL} deadlock > {said} & until [ -s {said} ]; do sleep 0.01; done; kill -9 $!; wait $!"
        result = run("-r", "1", "-o", out, "sh", "-c", script)
        tap.equal(result.returncode, 137, "a child is killed")
        found = [live.figures(place.file(name), *TRUTH) for name in place.files() if name != "said"]
        tap.ok(TRUTH in found, "its profile is there", found)
        tap.equal(live.segments(), [], "nothing is left behind")
    with live.Place() as place:
        for i in range(30):
            run("-q", "-r", "1", "-o", place.file("x.%p.pb.gz"), "sh", "-c",
                f"{STILL} & sleep 0.00{i % 10}; kill -9 $!; wait $!")
        tap.equal(live.segments(), [], "nor by children that were killed when they had hardly begun")
    with live.Place() as place:
        process = subprocess.Popen(command("-r", "1", "-o", place.file("x.pb.gz"), STILL, "sleep"), env=clean(),
                                   text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        place.started.append(process)
        process.stdout.readline()
        process.terminate()
        process.wait(timeout=under.TIMEOUT)  # its standard input stays open: at its end the program would end by itself
        _, errors = process.communicate(timeout=under.TIMEOUT)
        tap.equal((process.returncode, live.figures(place.file("x.pb.gz"), *TRUTH)), (-signal.SIGTERM, TRUTH),
                  "terminated, the program has its profile")
        tap.equal(errors.count("x.pb.gz\n"), 1, "which is said")


def counted(place, number, send):
    """What the program counted, after `send(process)`."""
    process = subprocess.Popen(command("-q", "-o", os.devnull, STANDIN, "count", str(int(number))), env=clean(),
                               text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    place.started.append(process)
    process.stdout.readline()
    send(process)
    time.sleep(0.1)
    process.send_signal(signal.SIGUSR2)
    output, _ = process.communicate(timeout=under.TIMEOUT)
    return process.returncode, output


def check_signals():
    with live.Place() as place:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM,
                       signal.SIGCONT, signal.SIGWINCH, signal.SIGRTMIN + 3):
            got = counted(place, number, lambda process: process.send_signal(number))
            tap.equal(got, (5, "1 0\n"), f"signal {int(number)} is passed on, once")
    with live.Place() as place:
        killed = subprocess.Popen(command("-q", "-o", place.file("x.%p.pb.gz"), "-r", "1", STILL, "sleep"), env=clean(),
                                  text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        place.started.append(killed)
        killed.stdout.readline()
        (pid,) = [int(os.path.basename(path).split("-")[0]) for path in live.segments()]
        killed.kill()
        killed.wait()
        time.sleep(0.2)
        tap.ok(live.state(pid) not in (None, "Z", "X"), "SIGKILL: the program goes on", live.state(pid))
        killed.stdin.close()  # the line that it waits for
        killed.stdin = None
        tap.equal(killed.stdout.read(), "", "until it ends")
        out = place.file(f"x.{pid}.pb.gz")
        tap.ok(live.wait_until(lambda: os.path.exists(out)), "and writes its profile")
        tap.equal((live.figures(out, *TRUTH), live.wait_until(lambda: live.segments() == [])), (TRUTH, True),
                  "which is whole, and nothing is left behind")


def check_terminal():
    """On a terminal: in the foreground, and an interrupt comes once."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(clean())
        os.execv(under.CPROF, command("-q", "-o", os.devnull, STANDIN, "count", str(int(signal.SIGINT))))
    output = b""

    def read(until):
        nonlocal output
        end = time.monotonic() + 20
        while not re.search(until, output) and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    output += os.read(master, 4096)
                except OSError:
                    return

    read(rb"ready")
    os.write(master, b"\x03")
    time.sleep(0.2)
    os.kill(pid, signal.SIGUSR2)
    read(rb"\d+ \d+\r\n")
    _, status = os.waitpid(pid, 0)
    os.close(master)
    tap.ok(b"1 0\r\n" in output and os.waitstatus_to_exitcode(status) == 5, "Ctrl-C on a terminal comes once", output,
           status)


def check_progress():
    """--progress: a line on the terminal, which is taken away; nothing where there is no terminal."""
    with live.Place() as place:
        pid, master = pty.fork()
        if pid == 0:
            os.environ.update(clean())
            os.execv(under.CPROF, command("-q", "--progress", "-r", "1", "-o", place.file("x.pb.gz"), STILL, "sleep"))
        output, end = b"", time.monotonic() + 20
        while b"in use" not in output and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                output += os.read(master, 4096)
        os.write(master, b"\n")
        try:
            while more := os.read(master, 4096):
                output += more
        except OSError:
            pass
        _, status = os.waitpid(pid, 0)
        os.close(master)
        tap.ok(re.search(rb"cprof: still \d+: 312\.\d+kB allocated, 292\.97kB in use", output), "progress on a terminal", output)
        tap.ok(output.endswith(b"\r\x1b[K") and status == 0, "the line is taken away", output[-80:], status)
        result = run("-q", "--progress", "-o", place.file("y.pb.gz"), STEPS, "keep_a:10:10")
        tap.equal(result.stderr, "", "none where there is no terminal")


def check_transparent():
    plain = subprocess.run([STANDIN], env=clean(), capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    result = run("-q", "-o", os.devnull, STANDIN)
    tap.equal(result.stdout, plain.stdout, "group, session, descriptors, blocked and ignored signals are as ever")
    script = "trap '' HUP USR1; exec 7</dev/null; exec \"$@\""
    for how in (["sh", "-c", script, "sh"], ["setsid", "-w"], ["nohup"]):
        want = subprocess.run([*how, STANDIN], env=clean(), capture_output=True, text=True, check=True)
        got = subprocess.run([*how, *command("-q", "-o", os.devnull, STANDIN)], env=clean(), capture_output=True,
                             text=True,
                             check=False)
        tap.equal((got.returncode, got.stdout.replace("its own", "the parent's")),
                  (0, want.stdout.replace("its own", "the parent's")), f"{how[0]}: the same")

    def without_status():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    want = subprocess.run([STANDIN], env=clean(), capture_output=True, text=True, check=False,
                          preexec_fn=without_status)
    result = run("-q", "-o", os.devnull, STANDIN, preexec_fn=without_status)
    tap.equal(under.outcome(result), (0, want.stdout, ""), "with SIGCHLD ignored: the same, and the status is known")
    result = run("-q", "-o", os.devnull, STANDIN, "orphan")
    plain = subprocess.run([STANDIN, "orphan"], env=clean(), capture_output=True, text=True, check=True)
    tap.equal(result.stdout, plain.stdout, "orphans go where they would have gone")


def check_streams():
    with live.Place() as place:
        process = subprocess.Popen(command("-o", os.devnull, STANDIN, "close"), env=clean(), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        place.started.append(process)
        tap.equal(process.stdout.read(), b"", "a standard output that the program closed is closed")
        tap.equal(process.poll(), None, "while it goes on")
        process.stdin.write(b"\n")
        process.stdin.close()
        process.stdin = None
        tap.equal(process.wait(), 0, "and ends")
    result = subprocess.run(["sh", "-c", 'exec 0<&- 1>&- 2>&-; "$@"; exit $?', "sh",
                             *command("-o", os.devnull, STEPS, "exit:9")],
                            env=clean(), check=False)
    tap.equal(result.returncode, 9, "without standard streams")


for check in (check_status, check_profile, check_killed, check_signals, check_terminal, check_progress, check_transparent,
              check_streams):
    check()
tap.done()
