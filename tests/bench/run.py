# SPDX-License-Identifier: Apache-2.0
"""Runs one case under one tool, once, and returns what was measured as a dict of numbers."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

import cases

CLEARED = ("LD_PRELOAD", "MALLOC_", "CPROF_", "HEAPPROFILE", "HEAP_PROFILE_", "TCMALLOC_", "PYTHONMALLOC",
           "GLIBC_TUNABLES")


class Failed(Exception):
    pass


def clean_environment():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(CLEARED)}
    kept["LC_ALL"] = "C"
    return kept


def _pairs(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return {line.split()[0]: float(line.split()[1]) for line in f if len(line.split()) == 2}


def _complaints(tool, path):
    """What our library wrote to stderr: it does so only when something is wrong."""
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [line.strip() for line in f if line.startswith("cprof")]
    if lines:
        raise Failed(f"{tool.name}: {lines[0]}")


def _measure(build, tool, case, arguments, tmp, before=None):
    environment = {**case.environment, **tool.environment(tmp)}
    out = {name: os.path.join(tmp, name) for name in ("result", "stdout", "stderr")}
    work = case.how in (cases.OPERATION, cases.MEMORY, cases.EXIT)
    stdout = out["stdout"] if work else "/dev/null"
    command = [os.path.join(build, "measure"), out["result"], stdout, out["stderr"]]
    command += [f"{k}={v}" for k, v in environment.items()] + ["--"] + tool.prefix(tmp) + case.command + arguments
    # A directory of its own: heaptrack and others leave files where they are.
    return subprocess.Popen(command, env=clean_environment(), cwd=tmp, preexec_fn=before), out


def _finish(tool, process, out):
    if process.wait() != 0:
        raise Failed(f"{tool.name}: could not be measured")
    result = _pairs(out["result"])
    _complaints(tool, out["stderr"])
    if result["status"] != 0:
        raise Failed(f"{tool.name}: exit status {result['status']:.0f}")
    return result


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _redis_command(port, *words):
    """Sends one command, returns the start of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return s.recv(64)


def _keep_to(part):
    """To be called in a new process: the first half of the processors is the server's, the rest the client's, so that neither
    has to wait for the other."""
    every = sorted(os.sched_getaffinity(0))
    half = len(every) // 2
    if half:
        os.sched_setaffinity(0, every[:half] if part == "server" else every[half:])


def _redis(build, tool, case, tmp):
    port = _free_port()
    server = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tmp]
    process, out = _measure(build, tool, case, server, tmp, lambda: _keep_to("server"))
    try:
        for _ in range(600):
            try:
                if _redis_command(port, b"PING").startswith(b"+PONG"):
                    break
            except OSError:
                time.sleep(0.05)
        client = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-P", "16", "-n", str(case.n),
                  "-t", "set,get", "-d", "100", "-r", "100000", "--csv"]
        bench = subprocess.run(client, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment(),
                               text=True, check=True, preexec_fn=lambda: _keep_to("client"))
    finally:
        try:
            _redis_command(port, b"SHUTDOWN", b"NOSAVE")
        except OSError:
            pass
    result = _finish(tool, process, out)
    lines = [line for line in bench.stdout.splitlines() if line.startswith(('"SET"', '"GET"'))]
    rates = [float(line.split(",")[1].strip('"')) for line in lines]
    if len(rates) != 2:
        raise Failed(f"{tool.name}: redis-benchmark gave no figures")
    # As many of the one as of the other: requests over the time of both.
    return {"rps": 2 / (1 / rates[0] + 1 / rates[1]), "peak_kib": result["peak_kib"], "cpu_s": result["cpu_ns"] / 1e9}


def _reader_peak(build, tool, tmp):
    """Peak, in KiB, of the program that makes sense of what the tool wrote; usually it runs beside."""
    if not tool.reader:
        return 0
    out = {name: os.path.join(tmp, "reader-" + name) for name in ("result", "stderr")}
    subprocess.run([os.path.join(build, "measure"), out["result"], "/dev/null", out["stderr"], "--", "sh", "-c",
                    tool.reader.replace("{tmp}", tmp)], env=clean_environment(), cwd=tmp, check=True)
    result = _pairs(out["result"])
    if result["status"] != 0:
        raise Failed(f"{tool.name}: its reader's exit status is {result['status']:.0f}")
    return result["peak_kib"]


def run(build, case, tool):
    tmp = tempfile.mkdtemp(prefix="cprof-bench-")
    try:
        if case.how == cases.REDIS:
            return _redis(build, tool, case, tmp)
        n = case.operations(tool.name)
        arguments = [] if case.how == cases.PROCESS else [str(n)]
        process, out = _measure(build, tool, case, arguments, tmp)
        result = _finish(tool, process, out)
        if case.how == cases.PROCESS:
            return {"wall_s": result["wall_ns"] / 1e9, "cpu_s": result["cpu_ns"] / 1e9, "peak_kib": result["peak_kib"]}
        own = _pairs(out["stdout"])
        if case.how == cases.EXIT:
            return {"exit_s": (result["end_ns"] - own["end_ns"]) / 1e9,
                    "exit_cpu_s": (result["cpu_ns"] - own["end_cpu_ns"]) / 1e9,
                    "rise_kib": max(0, result["peak_kib"] - own["peak_kib"]), "ns": own["ns"]}
        got = {"ns": own["ns"], "cpu": own["cpu"], "peak_kib": result["peak_kib"], "blocks": n}
        if case.how == cases.MEMORY:
            got["all_kib"] = result["peak_kib"] + _reader_peak(build, tool, tmp)
        return got
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
