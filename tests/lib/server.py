# SPDX-License-Identifier: Apache-2.0
"""`cprof serve` and processes for it to show.

    with server.Server("--pid", "4711") as served:    listens on 127.0.0.1, at any port that is free
        served.get("/debug/pprof/heap")               Answer: status, headers, body
        served.url("/targets")                        for other programs
        served.send(b"GET / HTTP/1.1...")             what comes back, as it is
    program = server.Rhythm(place)                    tests/serve/rhythm.c, under the library
        program.tell("keep 10 100")
"""
import http.client
import os
import shutil
import signal
import socket
import subprocess
import urllib.parse

import under


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class Server:
    """stderr is kept in .stderr once it has been stopped. `command`: what runs it."""
    command = []

    def __init__(self, *arguments, environment=None, listen="127.0.0.1:0"):
        self.process = subprocess.Popen(
            [*self.command, under.CPROF, "serve", "--listen", listen, *(str(argument) for argument in arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment or under.environment(preload=None, extra={"DEBUGINFOD_URLS": ""}))
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            self.stop()
            raise RuntimeError(f"cprof serve did not start: {self.stderr}")
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.hostname, parts.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        try:
            _, self.stderr = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, self.stderr = self.process.communicate()
        return self.process.returncode

    def url(self, path):
        return self.address.rstrip("/") + path

    def connect(self, timeout=30):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def get(self, path, method="GET", body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def send(self, data, timeout=30):
        with self.connect(timeout) as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            received = b""
            while chunk := sock.recv(65536):
                received += chunk
            return received

    def memory(self):
        """Resident, in bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Rhythm:
    """The program under the library, which does what it is told. `name`: that of its executable."""

    def __init__(self, place, name="rhythm", **settings):
        path = place.file(name)
        if not os.path.exists(path):
            shutil.copy(under.program("serve/rhythm"), path)
        self.process = place.start([path], **settings)
        self.pid = self.process.pid

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self):
        return self.process.stdout.readline().strip()

    def tell(self, line):
        """Returns once it is done."""
        self.say(line)
        return self.wait()
