#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every example of the man page does what it says, where what it names is there. 4711 stands for a process."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from toolkit import cprof, record, symbolize, under  # noqa: E402
import tap  # noqa: E402

BUILD = os.path.dirname(under.CPROF)
ESCAPES = (("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\(ga", "`"), ("\\&", ""), ("\\e", "\\"))
STEPS = under.program("system/steps")


def alone():
    """Has this program in a place of its own, where /dev/shm holds nothing of other processes: examples that are about
    all processes must not take from others what those left there. False if that can't be had."""
    if os.environ.get("CPROF_TEST_ALONE"):
        return os.environ["CPROF_TEST_ALONE"] == "yes"
    script = 'mount -t tmpfs none /dev/shm && export CPROF_TEST_ALONE=yes || export CPROF_TEST_ALONE=no; exec "$0" "$@"'
    probe = ["unshare", "-m", "true"]
    if shutil.which("unshare") and not subprocess.run(probe, check=False, capture_output=True).returncode:
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", script, sys.executable, os.path.abspath(__file__)])
    return False


def examples():
    with open(os.path.join(BUILD, "man", "cprof.1"), encoding="utf-8") as file:
        page = file.read()
    for escape, character in ESCAPES:
        page = page.replace(escape, character)
    return re.findall(r"^    ((?:cprof |LD_PRELOAD=).*)$", page, re.M)


class Place:
    """A directory with the files that the examples name, and the processes."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="cprof-examples.")
        self.processes = []
        self.environment = under.environment(preload=None, extra={
            "PATH": f"{BUILD}:{self.path}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": BUILD, "DEBUGINFOD_URLS": ""})
        os.makedirs(os.path.join(self.path, "bin"))
        shutil.copy(STEPS, os.path.join(self.path, "bin", "redis-server"))
        shutil.copy(shutil.which("true"), os.path.join(self.path, "server"))
        for name, variant in (("before", "concat"), ("after", "builder")):
            self.record("strings", variant, f"{name}.pb.gz")

    def record(self, workload, variant, name):
        """A profile of one of the workloads, with names."""
        raw = os.path.join(self.path, "raw.pb.gz")
        record([os.path.join(under.ROOT, "build", "workloads", workload), variant], raw)
        symbolize(raw, os.path.join(self.path, name))

    def start(self):
        """A process that is being profiled."""
        process = subprocess.Popen([STEPS, "keep_a:1000:100", "say:ready", "sleep:600000"], cwd=self.path,
                                   stdout=subprocess.PIPE, env=under.environment({"RATE": "1", "OUT": "live.%p.pb.gz"}))
        self.processes.append(process)
        process.stdout.read(1)
        return process

    def prepare(self, example):
        """The example with the number of a process that it can be about, and with that process's profile."""
        process = self.start()
        if " recover " in example:
            process.send_signal(signal.SIGKILL)
            process.wait()
            os.makedirs(os.path.join(self.path, "profiles"), exist_ok=True)
        self.record("message_batch", "growing", f"cprof.server.{process.pid}.pb.gz")
        return example.replace("4711", str(process.pid))

    def serve(self, example):
        """What goes on until it is told to stop: it is asked for something before."""
        server = subprocess.Popen(["bash", "-c", f"exec {example}"], cwd=self.path, env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = server.stdout.readline().strip()
        try:
            if address:
                urllib.request.urlopen(f"{address}targets", timeout=under.TIMEOUT).close()
        finally:
            server.terminate()
        stdout, stderr = server.communicate(timeout=under.TIMEOUT)
        return subprocess.CompletedProcess(example, server.returncode, address + stdout, stderr)

    def run(self, example):
        command = self.prepare(example)
        if command.startswith("cprof serve"):
            return self.serve(command)
        return subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=under.TIMEOUT, check=False)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        time.sleep(0.1)
        shutil.rmtree(self.path, ignore_errors=True)


ALONE = alone()
PLACE = Place()
try:
    found = examples()
    tap.ok(len(found) >= 15 and any(line.startswith("LD_PRELOAD") for line in found), "the page has examples", found)
    for line in found:
        if "--all" in line and not ALONE:
            tap.skip(line, "what other processes left can't be kept out of it")
            continue
        outcome = PLACE.run(line)
        tap.ok(outcome.returncode == 0, line, outcome)
    files = set(os.listdir(PLACE.path))
    for name in ("server.pb.gz", "server.html", "out.pb.gz", "now.pb.gz", "growth.html", "stacks.txt"):
        tap.ok(name in files, f"{name} was made", files)
    valid = [name for name in files if name.endswith(".pb.gz")]
    tap.equal(cprof("check", *valid, cwd=PLACE.path).stderr, "", "and the profiles are valid")
finally:
    PLACE.close()
tap.done()
