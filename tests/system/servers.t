#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers under load, recording everything and at the default rate: they serve what they serve without the library,
end as they do, and each of their processes leaves a valid profile."""
import glob
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import under  # noqa: E402

RATES = (("1", "recording everything"), (None, "at the default rate"))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, server):
    """Until it answers, or has ended."""
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def client(*command):
    return subprocess.run(command, env=under.environment(preload=None), capture_output=True, text=True, check=False,
                          timeout=under.TIMEOUT)


class Server:
    """A server in a directory of its own, ended in any case."""

    def __init__(self, command, settings, preload, directory):
        if preload:
            settings = {**settings, "OUT": f"{directory}/profiles/%e.%p.pb.gz"}
        os.mkdir(f"{directory}/profiles")
        self.log = open(f"{directory}/log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(command, env=under.environment(settings, preload), cwd=directory,
                                        stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def text(self):
        self.log.seek(0)
        return self.log.read()


def redis(directory, settings, preload):
    """(answers, exit status, log)"""
    port = str(free_port())
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory]
    with Server(command, settings, preload, directory) as server:
        if not wait_for(int(port), server.process):
            return None, server.process.poll(), server.text()
        load = client("redis-benchmark", "-p", port, "-n", "5000", "-q", "-t", "set,get,lpush,hset,zadd,mset")
        answers = [load.returncode]
        for words in ("dbsize", "llen mylist", "hlen myhash", "bgsave", "config set maxmemory 100mb",
                      "eval return(7) 0", "set x y", "append x z", "get x", "object encoding mylist"):
            answers.append(client("redis-cli", "-p", port, *words.split(" ", 5)).stdout)
        until = time.monotonic() + 30
        while "rdb_bgsave_in_progress:1" in client("redis-cli", "-p", port, "info", "persistence").stdout \
                and time.monotonic() < until:
            time.sleep(0.05)
        answers.append(os.path.exists(f"{directory}/dump.rdb"))
        client("redis-cli", "-p", port, "shutdown", "nosave")
        status = server.process.wait(30)
        return answers, status, server.text()


NGINX = """daemon off; worker_processes 2; pid {dir}/pid; error_log {dir}/error.log; {user}
events {{ worker_connections 64; }}
http {{ access_log off; gzip on; gzip_types *; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b;
    fastcgi_temp_path {dir}/c; uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
    server {{ listen 127.0.0.1:{port}; root {dir}/www; location /old {{ return 301 /new; }} }} }}
"""


def nginx(directory, settings, preload):
    port = free_port()
    os.mkdir(f"{directory}/www")
    with open(f"{directory}/www/page", "w", encoding="ascii") as file:
        file.writelines(f"line {i}\n" for i in range(20000))
    with open(f"{directory}/conf", "w", encoding="ascii") as file:
        file.write(NGINX.format(dir=directory, port=port, user="user root;" if os.geteuid() == 0 else ""))
    command = ["nginx", "-e", f"{directory}/error.log", "-c", f"{directory}/conf"]
    with Server(command, settings, preload, directory) as server:
        if not wait_for(port, server.process):
            return None, server.process.poll(), server.text()
        answers = []
        for i in range(200):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/{'page' if i % 10 else 'none'}",
                                             headers={"Accept-Encoding": "gzip"} if i % 2 else {})
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    answers.append((answer.status, hashlib.sha256(answer.read()).hexdigest()))
            except urllib.error.HTTPError as error:
                answers.append((error.code, len(error.read())))
            if i == 100:
                server.process.send_signal(signal.SIGHUP)  # new workers, and the old ones end
        server.process.send_signal(signal.SIGQUIT)
        status = server.process.wait(30)
        return answers, status, server.text()


# (what, programs, how, least number of processes with a profile)
SERVERS = (
    ("redis-server", ["redis-server", "redis-cli", "redis-benchmark"], redis, 2),
    ("nginx", ["nginx"], nginx, 5),
)


def lines_of_ours(log):
    return [line for line in log.splitlines() if "cprof" in line and "cprof-servers" not in line]


for what, programs, how, processes in SERVERS:
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        tap.skip(what, f"{', '.join(missing)} not installed")
        continue
    with tempfile.TemporaryDirectory(prefix="cprof-servers.") as place:
        plain, plain_status, log = how(place, {}, None)
    if not tap.ok(plain and plain_status == 0, f"{what}: runs without the library", log):
        continue
    for rate, words in RATES:
        with tempfile.TemporaryDirectory(prefix="cprof-servers.") as place:
            got, status, log = how(place, {"RATE": rate} if rate else {}, under.LIBRARY)
            tap.equal(got, plain, f"{what}: serves the same, {words}")
            tap.ok(status == 0 and not lines_of_ours(log), f"{what}: ends well, {words}", status, log)
            files = glob.glob(f"{place}/profiles/*.pb.gz")
            tap.ok(len(files) >= processes, f"{what}: each process has its profile, {words}", files)
            tap.equal(under.check(files), "", f"{what}: and they are valid")
            tap.equal(len(files), len(os.listdir(f"{place}/profiles")), f"{what}: and nothing else is there")
tap.done()
