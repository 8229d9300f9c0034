#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof serve gets what no client would send, thousands of times, and goes on as if nothing had been."""
import collections
import concurrent.futures
import os
import random
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402

COUNT = int(os.environ.get("GARBAGE_COUNT", "4000"))
WAITING = 40  # SERVE_WAITING
SEED = int(os.environ.get("GARBAGE_SEED", "7"))
PATHS = ("/", "/targets", "/api/processes", "/api/flame", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/allocs",
         "/debug/pprof/symbol", "/debug/pprof/cmdline", "/debug/pprof/heap?debug=1", "/nothing")
PIECES = (b"\r\n", b"\n", b"\r", b"\0", b":", b" ", b"\t", b"%", b"%00", b"%zz", b"?", b"&", b"=", b"+", b"/", b"..",
          b"#", b"HTTP/1.1", b"HTTP/0.9", b"HTTP/9.9", b"GET ", b"POST ", b"Host: ", b"Content-Length: ", b"\xff\xfe",
          b"\x80", b"Transfer-Encoding: chunked\r\n", b"Connection: ", b"Expect: 100-continue\r\n", b"Cookie: a=",
          b"A" * 5000)
VALUES = ("", "0", "-1", "1", "99999999999999999999", "0x10", "1.5", " 1", "%31", "%", "%%", "\u20ac", "a" * 300,
          "1&pid=2")


def good(chance, port):
    """A request that might be one."""
    path = chance.choice(PATHS)
    for _ in range(chance.randint(0, 3)):
        name = chance.choice(("pid", "debug", "gc", "seconds", "nodes", "", "%70id", "x" * 100))
        value = chance.choice(VALUES)
        if name != "seconds" or value not in ("1", "%31", "1&pid=2"):  # these would wait for a second
            path += ("&" if "?" in path else "?") + f"{name}={value}"
    method = chance.choice(("GET", "GET", "GET", "HEAD", "POST", "PUT", "get", "CONNECT", "X" * 40))
    host = chance.choice((f"127.0.0.1:{port}",) * 4 + ("evil", "", f"[::1]:{port}"))
    lines = [f"{method} {path} HTTP/1.{chance.choice('0011129')}", f"Host: {host}"]
    body = b""
    if method in ("POST", "PUT") or chance.random() < 0.1:
        body = bytes(chance.choice(b"0123456789abcdefx+\0\r\n%") for _ in range(chance.choice((0, 1, 30, 3000))))
        if chance.random() < 0.3:
            lines.append("Transfer-Encoding: chunked")
            if chance.random() < 0.5:
                body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        else:
            lines.append(f"Content-Length: {len(body) + chance.choice((0, 0, 0, -1, 1, 10**6, -10**6))}")
    for _ in range(chance.choice((0, 0, 1, 3, 200))):
        lines.append(f"X-{chance.randint(0, 999)}: {'v' * chance.choice((0, 5, 500))}")
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + body


def garbage(chance, port):
    kind = chance.random()
    if kind < 0.15:
        return bytes(chance.getrandbits(8) for _ in range(chance.choice((1, 10, 100, 5000))))
    data = bytearray(good(chance, port))
    if kind < 0.55:
        for _ in range(chance.randint(1, 8)):
            at = chance.randint(0, len(data))
            data[at : at + chance.choice((0, 0, 1, 10))] = chance.choice(PIECES)
    elif kind < 0.7:
        del data[chance.randint(0, len(data)) :]
    elif kind < 0.8:
        data += good(chance, port) * chance.randint(1, 5)
    return bytes(data)


def send_one(served, chance):
    """What the answer begins with. Of requests that are not whole there may be none for long; no need to wait."""
    begin = b""
    with served.connect(10) as sock:
        try:
            sock.sendall(garbage(chance, served.port))
            sock.settimeout(0.5)
            if chance.random() < 0.9:
                sock.shutdown(socket.SHUT_WR)
                while chunk := sock.recv(65536):
                    begin = (begin + chunk)[:12]
        except OSError:  # it has closed the connection already
            pass
    return begin.decode("latin-1")


def send_all(served, seed, count):
    """What the answers began with, and how many there were of each."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return collections.Counter(pool.map(lambda i: send_one(served, random.Random(f"{seed}.{i}")), range(count)))


def check_held(served):
    """As many connections as there may be, that send nothing or half a request, and one more client."""
    held = [served.connect() for _ in range(40)]
    for sock in held[::2]:
        sock.sendall(b"GET / HTTP/1.1\r\nHost:")
    begun = time.monotonic()
    status = served.get("/targets").status
    tap.ok(status == 200 and time.monotonic() - begun < 2, "with forty connections held open: answered at once", status)
    for sock in held:
        sock.close()
    many = [served.connect() for _ in range(100)]
    begun, status = time.monotonic(), None
    while status != 200 and time.monotonic() < begun + 12:
        try:
            status = served.get("/targets").status
        except OSError:
            time.sleep(0.1)
    seconds = time.monotonic() - begun
    tap.ok(status == 200 and seconds < 8, "with a hundred: soon, as those that say nothing must make room",
           f"{status} after {seconds:.1f} s")
    for sock in many:
        sock.close()


def check_gone(served):
    """Those that ask for something that takes a while, and leave."""
    request = f"GET /debug/pprof/heap?seconds=600 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    for _ in range(200):
        with served.connect() as sock:
            sock.sendall(request)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and served.descriptors() > before_descriptors + 2:
        time.sleep(0.1)
    tap.ok(served.descriptors() <= before_descriptors + 2, "clients that left before the answer leave nothing behind",
           served.descriptors())
    waiting = [served.connect() for _ in range(WAITING + 7)]
    for sock in waiting:
        sock.sendall(request)
    time.sleep(0.5)
    refused = 0
    for sock in waiting:
        sock.setblocking(False)
        try:
            refused += sock.recv(100).startswith(b"HTTP/1.1 503")
        except BlockingIOError:
            pass
        sock.close()
    tap.equal(refused, 7, f"of those that wait for a difference there may be {WAITING}")


if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")
with live.Place() as place:
    program = server.Rhythm(place)
    program.tell("keep 10 10")
    with server.Server() as served:
        served.get("/debug/pprof/heap")
        send_all(served, SEED + 1, 300)
        before_memory, before_descriptors = served.memory(), served.descriptors()
        answers = send_all(served, SEED, COUNT)
        known = {"", *(f"HTTP/1.{minor} {status}" for minor in (0, 1)
                       for status in (100, 200, 301, 400, 403, 404, 405, 408, 411, 413, 414, 417, 431, 500, 501, 505))}
        tap.ok(set(answers) <= known, f"{COUNT} requests, seed {SEED}: nothing but answers", answers)
        tap.ok(not any(" 500" in answer for answer in answers), "no request makes the server fail", answers)
        tap.ok(any(" 200" in answer for answer in answers) and any(" 400" in answer for answer in answers),
               "some were good, some were not", answers)
        time.sleep(0.3)
        tap.ok(served.memory() - before_memory < 4 << 20, "the server has not grown", (before_memory, served.memory()))
        tap.ok(served.descriptors() <= before_descriptors + 1, "nor does it keep connections",
               (before_descriptors, served.descriptors()))
        check_held(served)
        check_gone(served)
        answer = served.get("/debug/pprof/heap?debug=1")
        tap.ok(answer.status == 200 and answer.text.startswith("heap profile: 10: 100 [10: 100]"),
               "and it serves profiles still", answer.text[:100])
        tap.equal((served.stop(), served.stderr), (0, ""), "and ends as it should, having said nothing")
tap.done()
