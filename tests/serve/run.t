#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof run --serve: a program's profile while it runs, and nothing else about the program changes."""
import gzip
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

RHYTHM, STANDIN, STEPS = (under.program(name) for name in ("serve/rhythm", "live/standin", "system/steps"))
FAILED, MISSING = 125, 127
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def clean(**extra):
    return under.environment(preload=None, extra={"CPROF_SYMBOLIZE": "off", "DEBUGINFOD_URLS": "", **extra})


def get(address, path):
    """Status and body; None where nobody answers."""
    try:
        with urllib.request.urlopen(address + path, timeout=under.TIMEOUT) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return None


class Run:
    """`cprof run --serve` with a program; its address once it has been said."""

    def __init__(self, place, *command, options=("-q",), **more):
        self.process = subprocess.Popen(
            [under.CPROF, "run", "--serve", "127.0.0.1:0", "-r", "1", "-o", place.file("x.%p.pb.gz"), *options, "--",
             *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean(),
            cwd=place.path, **more)
        place.adopt(self.process)
        said = re.fullmatch(r"cprof: serving (http://127\.0\.0\.1:[1-9]\d*)/\n", self.process.stderr.readline())
        self.address = said.group(1) if said else ""
        tap.ok(said, "its address is said first")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        stdout, stderr = self.process.communicate(timeout=under.TIMEOUT)
        return self.process.returncode, stdout, stderr

    def gone(self):
        return live.wait_until(lambda: get(self.address, "/targets") is None, 5)


def figures(body):
    profile = pprof.Profile(gzip.decompress(body), symbolize=False)
    return {name: (profile.flat("alloc_objects")[name], profile.flat("inuse_space")[name]) for name in ("keep", "pass")}


def check_one(place):
    run = Run(place, RHYTHM)
    tap.equal(run.process.stdout.readline(), "ready\n", "the program's streams are its own")
    run.tell("keep 100 50")
    run.tell("pass 30 70")
    get(run.address, "/debug/pprof/heap")  # the names may take longer than the first answer waits
    status, body = get(run.address, "/debug/pprof/heap")
    tap.equal((status, figures(body)), (200, {"keep": (100, 5000), "pass": (30, 0)}), "the profile, while it runs")
    run.process.stdin.write("end\n")
    tap.equal(run.end(), (0, "", ""), "it ends as the program does")
    tap.ok(run.gone(), "and so does the server")
    files = place.files()
    tap.ok(len(files) == 1, "the profile is written", files)
    tap.equal(live.figures(place.file(files[0]), "keep"), {"keep": (100, 5000, 100, 5000)}, "and is what it should be")


def check_status(place):
    for script, status in (("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM), ("kill -KILL $$", -signal.SIGKILL)):
        run = Run(place, "sh", "-c", script)
        code, stdout, stderr = run.end()
        tap.equal((code, stdout, stderr), (status, "", ""), f"{script}: that is how it ends")
        tap.ok(run.gone(), f"{script}: nobody listens any more")
    plain = subprocess.run([STANDIN], env=clean(), capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    served = subprocess.run([under.CPROF, "run", "-q", "--serve", "127.0.0.1:0", "-o", os.devnull, STANDIN], env=clean(),
                            capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    tap.equal(served.stdout, plain.stdout, "group, session, descriptors, blocked and ignored signals are as ever")


def check_refusals(place):
    """What is wrong with the address is said, in one line, and the program is not run."""
    mark = place.file("ran")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for arguments, said in ((("--serve", f"127.0.0.1:{port}"), "can't listen there: Address already in use"),
                                (("--serve", "127.0.0.1:99999"), "not ADDRESS:PORT"),
                                (("--serve", "6060"), "not ADDRESS:PORT"), (("--serve", ""), "not ADDRESS:PORT"),
                                (("--serve", "0.0.0.0:0"), "--allow-remote"), (("--serve", "[::]:0"), "--allow-remote"),
                                (("--serve", "192.0.2.1:0", "--allow-remote"), "can't listen there")):
            result = live.cprof("run", *arguments, "touch", mark, env=clean())
            tap.ok(result.returncode == FAILED and said in result.stderr and result.stderr.count("\n") == 1 and
                   result.stdout == "" and not os.path.exists(mark), f"{arguments}: one line, and nothing is run", result)
    result = live.cprof("run", "--allow-remote", "touch", mark, env=clean())
    tap.ok(result.returncode == FAILED and "--serve" in result.stderr and not os.path.exists(mark),
           "--allow-remote alone", result)
    result = live.cprof("run", "--serve", "127.0.0.1:0", "/none/such", env=clean())
    tap.equal(result.returncode, MISSING, "a program that isn't there")
    remote = live.cprof("run", "-q", "--serve", "0.0.0.0:0", "--allow-remote", "-o", os.devnull, "true", env=clean())
    tap.ok(remote.returncode == 0 and remote.stderr.startswith("cprof: serving http://0.0.0.0:"), "--allow-remote", remote)


def check_children(place):
    """Only processes of the run are served; what the program leaves behind is served until it ends."""
    other = server.Rhythm(place, OUT=place.file("other.pb.gz"))
    run = Run(place, "sh", "-c", f"{STEPS} sleep:3000 & sleep 0.5; exit 3", options=())
    begun = time.monotonic()
    status = run.process.wait()
    tap.ok(status == 3 and time.monotonic() - begun < 2, "the end of the program is not put off", status)
    targets = json.loads(get(run.address, "/targets")[1])
    tap.equal([target["labels"]["exe"] for target in targets], ["steps"], "its child is served still, and no other")
    tap.equal(get(run.address, f"/debug/pprof/heap?pid={other.pid}")[0], 404, "no other, even if it is named")
    said = ""
    while "until" not in said and (line := run.process.stderr.readline()):  # the child has it open still
        said += line
    tap.ok(said.endswith(f"cprof: {run.address}/ serves until they end\n"), "which is said", said)
    tap.equal(get(run.address, "/debug/pprof/heap")[0], 200, "being the only one it need not be named")
    tap.ok(run.gone(), "with the last one the server ends")
    run = Run(place, "bash", "-c", f"{STEPS} sleep:60000 & read line; kill $!; wait")
    live.wait_until(lambda: len(json.loads(get(run.address, "/targets")[1])) == 2)
    profile = pprof.Profile(gzip.decompress(get(run.address, "/debug/pprof/heap")[1]), symbolize=False)
    tap.ok("bash" in profile.mappings[0].path, "of several the program itself is meant, if none is named",
           profile.mappings[0].path)
    run.process.stdin.write("\n")
    run.end()
    run = Run(place, "sh", "-c", f"exec {STEPS} sleep:60000")
    live.wait_until(lambda: json.loads(get(run.address, "/targets")[1]))
    (target,) = json.loads(get(run.address, "/targets")[1])
    pid = int(target["labels"]["pid"])
    run.process.kill()
    run.process.wait()
    time.sleep(1.5)  # the server looks once in a second whether its time is over
    tap.equal((get(run.address, "/debug/pprof/heap") or (0,))[0], 200, "cprof run is killed: program and server go on")
    os.kill(pid, signal.SIGTERM)
    tap.ok(run.gone(), "with the program the server ends")


def check_terminal(place):
    """Ctrl-C goes to the program; the server goes on, as long as the program does."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(clean())
        os.execv(under.CPROF, [under.CPROF, "run", "-q", "--serve", "127.0.0.1:0", "-o", place.file("t.pb.gz"), STANDIN,
                               "count", str(int(signal.SIGINT))])
    output = b""

    def read(until):
        nonlocal output
        while not re.search(until, output):
            output += os.read(master, 4096)

    read(rb"ready")
    address = re.search(rb"serving (http://[^/]+)/", output).group(1).decode()
    os.write(master, b"\x03")
    time.sleep(0.3)
    tap.equal((get(address, "/targets") or (0,))[0], 200, "Ctrl-C: the server does not mind")
    os.kill(pid, signal.SIGUSR2)
    read(rb"\d+ \d+\r\n")
    _, status = os.waitpid(pid, 0)
    os.close(master)
    tap.ok(b"1 0\r\n" in output and os.waitstatus_to_exitcode(status) == 5, "the program gets it, once", output, status)
    tap.ok(live.wait_until(lambda: get(address, "/targets") is None, 5), "and the server ends with it")


def check_waiting(place):
    """Who waits for a difference when the program ends is told so."""
    run = Run(place, RHYTHM)
    run.process.stdout.readline()
    waiting = subprocess.Popen([sys.executable, "-c", "import sys, urllib.request as u, urllib.error\n"
                                "try: print(u.urlopen(sys.argv[1]).status)\n"
                                "except urllib.error.HTTPError as e: print(e.code)",
                                run.address + "/debug/pprof/heap?seconds=60"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.7)
    run.process.stdin.write("end\n")
    begun = time.monotonic()
    tap.equal(run.end()[0], 0, "a client that waits does not hold it up")
    tap.equal((waiting.communicate(timeout=20)[0], time.monotonic() - begun < 5), ("503\n", True), "but is told")


# The terminal's several times: the server may be quick or slow to leave its group.
for check in (check_one, check_status, check_refusals, check_children, *[check_terminal] * 8, check_waiting):
    with live.Place() as PLACE:
        check(PLACE)
tap.done()
