#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof serve: what it answers, figures that are known, as Go's own tools and scrapers ask for them."""
import concurrent.futures
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

TEXT, BINARY = "text/plain; charset=utf-8", "application/octet-stream"
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def parsed(answer):
    return pprof.Profile(gzip.decompress(answer.body), symbolize=False)


def figures(profile, *functions):
    """{function: the four values of what it owns}"""
    flat = {name: profile.flat(name) for name, _ in profile.sample_types}
    return {name: tuple(values[name] for values in flat.values()) for name in functions}


def valid(place, answer, what):
    path = place.file("answer.pb.gz")
    with open(path, "wb") as file:
        file.write(answer.body)
    tap.equal(under.check([path]), "", f"{what}: valid for cprof check")


def settled(served, path):
    """The first answer may have come before all names were known, if the machine is slow."""
    served.get(path)
    return served.get(path)


def check_profiles(place, served, program):
    program.tell("keep 1000 300")
    program.tell("pass 500 40")
    begun = time.time()
    heap = settled(served, "/debug/pprof/heap")
    tap.equal((heap.status, heap.headers["content-type"], heap.headers["content-disposition"],
               heap.headers["x-content-type-options"]),
              (200, BINARY, 'attachment; filename="heap"', "nosniff"), "heap: headers are Go's")
    valid(place, heap, "heap")
    profile = parsed(heap)
    tap.equal(figures(profile, "keep", "pass"), {"keep": (1000, 300000, 1000, 300000), "pass": (500, 20000, 0, 0)},
              "heap: figures are exact, and have names")
    tap.equal(profile.default_sample_type, "inuse_space", "heap: begins with what is in use")
    tap.ok(begun - 1 < profile.time_nanos / 1e9 < time.time() + 1 and profile.duration_nanos == 0,
           "heap: its time is when it was taken, as Go's", (profile.time_nanos, profile.duration_nanos))
    tap.equal({sample.labels.get("bytes") for sample in profile.samples}, {320, 48},
              "heap: the label is the size class, which does not move from one profile to the next")
    tap.equal(profile.mappings[0].flags, {"functions", "filenames", "line_numbers", "inline_frames"},
              "heap: of the program nobody need look for more names")
    allocs = served.get("/debug/pprof/allocs?debug=0&gc=1")
    tap.equal((allocs.status, allocs.headers["content-disposition"], parsed(allocs).default_sample_type),
              (200, 'attachment; filename="allocs"', "alloc_space"), "allocs: begins with what was allocated")
    valid(place, allocs, "allocs")
    head = served.get("/debug/pprof/heap", method="HEAD")
    tap.equal((head.status, head.body, int(head.headers["content-length"]) > 0), (200, b"", True), "HEAD: no body")


def check_text(place, served, program):
    text = served.get("/debug/pprof/heap?debug=1")
    lines = text.text.splitlines()
    tap.equal((text.status, text.headers["content-type"], "content-disposition" in text.headers), (200, TEXT, False),
              "debug=1: headers are Go's")
    tap.equal(lines[0], "heap profile: 1000: 300000 [1500: 320000] @ heap/2", "debug=1: the first line has the sums")
    tap.ok(re.match(r"1000: 300000 \[1000: 300000\] @( 0x[0-9a-f]+)+$", lines[1]), "debug=1: a stack", lines[1])
    tap.ok(re.match(r"#\t0x[0-9a-f]+\tkeep\t\S+rhythm\.c:\d+$", lines[2]), "debug=1: its functions", lines[2])
    top = pprof_top(place, served.url("/debug/pprof/heap?debug=1"), "-unit=B")
    tap.ok(re.search(r"^\s*300000B\s.*keep$", top, re.M), "debug=1: go tool pprof reads it", top)
    addresses = re.search(r"@ (.*)", lines[1]).group(1).split()[:2]
    wanted = "num_symbols: 1\n" + "".join(f"{address} {name}\n" for address, name in zip(addresses, ("keep", "main")))
    for what, answer in (("GET", served.get("/debug/pprof/symbol?" + "+".join(addresses))),
                         ("POST", served.get("/debug/pprof/symbol", "POST", "+".join(addresses).encode())),
                         ("GET with pid", served.get(f"/debug/pprof/symbol?pid={program.pid}&" + "+".join(addresses)))):
        tap.equal((answer.status, answer.headers["content-type"], answer.text), (200, TEXT, wanted), f"symbol: {what}")
    tap.equal(served.get("/debug/pprof/symbol?zzz+0x1+0+0x99999999999999999999").text, "num_symbols: 1\n",
              "symbol: what is no address of the program has no name")
    cmdline = served.get("/debug/pprof/cmdline")
    tap.equal((cmdline.status, cmdline.text), (200, program.process.args[0]), "cmdline")


def check_difference(served, program):
    """What the program is told between two moments is what the difference says."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for what, path, filename in (("allocs", "/debug/pprof/allocs?seconds=1", "allocs-delta"),
                                     ("heap", "/debug/pprof/heap?seconds=1", "heap-delta")):
            waiting = pool.submit(served.get, path)
            time.sleep(0.3)
            program.tell("keep 70 900")
            program.tell("pass 31 50")
            program.tell("drop 170")  # 70 of these, and 100 of those kept before
            answer = waiting.result()
            profile = parsed(answer)
            tap.equal((answer.status, answer.headers["content-disposition"]),
                      (200, f'attachment; filename="{filename}"'), f"{what}?seconds=1: headers are Go's")
            tap.equal(figures(profile, "keep", "pass"), {"keep": (70, 63000, -100, -30000), "pass": (31, 1550, 0, 0)},
                      f"{what}?seconds=1: the difference is what the program did meanwhile")
            tap.ok(0.9e9 < profile.duration_nanos < 4e9 and profile.default_sample_type ==
                   ("alloc_space" if what == "allocs" else "inuse_space"), f"{what}?seconds=1: its duration, its type")
            tap.equal(under.exact(profile), (64550, 101), f"{what}?seconds=1: the comment has the exact sums")
    empty = parsed(served.get("/debug/pprof/allocs?seconds=1"))
    tap.equal(len(empty.samples), 0, "a second in which nothing happens has no sample")


def pprof_top(place, *arguments):
    result = subprocess.run(["go", "tool", "pprof", "-top", *arguments[1:], arguments[0]], capture_output=True,
                            text=True, timeout=60, check=False,
                            env={**os.environ, "PPROF_TMPDIR": place.path, "HOME": place.path})
    return result.stdout if result.returncode == 0 else result.stdout + result.stderr


def check_go(place, served, program):
    if not shutil.which("go"):
        tap.skip("go tool pprof", "it is not installed")
        return
    top = pprof_top(place, served.url("/debug/pprof/heap"), "-unit=B")
    tap.ok("Type: inuse_space" in top and re.search(r"^\s*240000B\s.*keep$", top, re.M), "go tool pprof: heap", top)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(pprof_top, place, served.url("/debug/pprof/allocs?seconds=2"), "-unit=B")
        time.sleep(1.2)
        program.tell("pass 100 1000")
        top = waiting.result()
    tap.ok("Type: alloc_space" in top and re.search(r"^\s*100000B\s+100%.*pass$", top, re.M),
           "go tool pprof: allocs?seconds=2 is what came meanwhile", top)
    top = pprof_top(place, served.url("/debug/pprof/heap?pid=1"))
    tap.ok("404 Not Found - process 1 has ended, or is not being profiled" in top, "go tool pprof: tells why not", top)


def check_scrapers(place, served, program):
    """The requests of Alloy's pyroscope.scrape, of Parca and of Prometheus' http_sd, and what they check."""
    asked = {"User-Agent": "Prometheus/2.45.0", "Accept": "application/json",
             "X-Prometheus-Refresh-Interval-Seconds": "60"}
    answer = served.get("/targets", headers=asked)
    targets = json.loads(answer.body)
    found = [target for target in targets if target["labels"]["pid"] == str(program.pid)]
    tap.equal(found, [{"targets": [f"127.0.0.1:{served.port}"],
                       "labels": {"__param_pid": str(program.pid), "pid": str(program.pid), "exe": "rhythm",
                                  "service_name": "rhythm"}}], "http_sd: the process is a target")
    tap.equal(answer.headers["content-type"], "application/json", "http_sd: of the type that is asked for")
    parameter = found[0]["labels"]["__param_pid"]
    for agent, path in (("Alloy/v1.8.0 (linux; binary)", f"/debug/pprof/allocs?pid={parameter}"),
                        ("conprof/0.24.0", f"/debug/pprof/allocs?pid={parameter}"),
                        ("conprof/0.24.0", f"/debug/pprof/heap?pid={parameter}&seconds=1&seconds=1")):
        answer = served.get(path, headers={"User-Agent": agent, "Accept-Encoding": "gzip"})
        profile = parsed(answer)
        tap.ok(answer.status == 200 and answer.headers["content-type"].startswith(BINARY) and len(answer.body) > 0 and
               "content-encoding" not in answer.headers, f"{agent}: {path}: as it wants it", answer.headers)
        tap.equal([types for types in profile.sample_types if "objects" in types[0]],
                  [("alloc_objects", "count"), ("inuse_objects", "count")], f"{agent}: types that it knows")
        tap.equal(profile.period_type, ("space", "bytes"), f"{agent}: period")
    # Alloy subtracts the profile before; samples are told from each other by addresses and labels.
    before, after = (parsed(served.get("/debug/pprof/allocs")) for _ in range(2))
    key = [sorted((tuple(place.address for place in sample.locations), sorted(sample.labels.items()))
                  for sample in profile.samples) for profile in (before, after)]
    tap.equal(key[0], key[1], "two profiles one after the other have the same samples")
    valid(place, served.get("/debug/pprof/heap"), "heap, once more")


def check_statuses(served):
    for path, status, text in (
            ("/debug/pprof/profile", 501, "cprof profiles the heap alone"), ("/debug/pprof/goroutine", 501, ""),
            ("/debug/pprof/nonsense", 404, "Unknown profile"), ("/debug/pprof/heap/x", 404, "Unknown profile"),
            ("/nothing", 404, "404 page not found"), ("/debug/pprof/heap?seconds=0", 400, "positive integer"),
            ("/debug/pprof/heap?seconds=x", 400, 'invalid value for "seconds"'),
            ("/debug/pprof/heap?seconds=999999", 400, "at most"),
            ("/debug/pprof/heap?seconds=1&debug=1", 400, "incompatible"),
            ("/debug/pprof/heap?pid=-3", 400, "positive integer"),
            ("/debug/pprof/heap?pid=1", 404, "not being profiled"),
            ("/debug/pprof/heap%00", 400, "not a path"), ("/%2", 400, "not a path"),
            ("/..%2f..%2fetc/passwd", 404, "")):
        answer = served.get(path)
        tap.ok(answer.status == status and text in answer.text and answer.headers["content-type"] == TEXT and
               answer.headers["x-go-pprof"] == "1", f"{path}: {status}", (answer.status, answer.text, answer.headers))
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        answer = served.get("/debug/pprof/heap", method)
        tap.equal((answer.status, answer.headers.get("allow")), (405, "GET, HEAD"), f"{method}: 405")
    answer = served.get("/debug/pprof")
    tap.equal((answer.status, answer.headers["location"]), (301, "/debug/pprof/"), "/debug/pprof: to the index")
    index, page = served.get("/debug/pprof/"), served.get("/")
    tap.ok(index.status == 200 and "heap?pid=" in index.text, "index: lists the process", index.text)
    tap.ok(page.status == 200 and "connect-src 'self'" in page.headers["content-security-policy"] and
           "frame-ancestors 'none'" in page.headers["content-security-policy"], "page: may ask this server alone")
    for answer in (served.get("/api/processes"), served.get("/api/flame")):
        tap.ok(answer.status == 200 and answer.headers["content-type"] == "application/json" and
               json.loads(answer.body), "what the page asks for is JSON")
    large = served.get("/debug/pprof/symbol", "POST", b"0x1+" * 200000)
    tap.equal(large.status, 413, "a body that is too large: 413")


def check_readme(served, program):
    """What the README names is there."""
    with open(os.path.join(under.ROOT, "tools", "serve", "README.md"), encoding="utf-8") as file:
        text = file.read()
    paths = set(re.findall(r"(?<![\w.])/(?:debug/pprof|api|targets)[\w/]*(?:\?[\w=&]+)?", text))
    paths |= {path for path in re.findall(r"127\.0\.0\.1:6060(/[^\s'\"]*)", text)}
    paths = {re.sub(r"pid=\w+", f"pid={program.pid}", path).replace("seconds=10", "seconds=1") for path in paths}
    statuses = {path: served.get(path).status for path in paths}
    tap.ok(len(paths) > 7 and set(statuses.values()) == {200}, "all paths of the README", statuses)


def check_hosts(served):
    port = served.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
        tap.equal(served.get("/targets", headers={"Host": host}).status, 200, f"Host: {host} is fine")
    for host in ("evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}", "localhost", "127.0.0.1",
                 f"127.0.0.1:{port + 1}", f"10.0.0.1:{port}", f"localhost:{port}:1", f"[::1:{port}",
                 f"@localhost:{port}", f"localhost.:{port}", f"127.0.0.1.:{port}", "x" * 3000,
                 f"user@localhost:{port}", f"0.0.0.0:{port}"):
        tap.equal(served.get("/targets", headers={"Host": host}).status, 403, f"Host: {host[:40]} is not")
    for host, status in ((f"localhost:{port}", 200), (f"127.0.0.1:{port}", 200), (f"evil.example:{port}", 403), ("", 403),
                         (f"user@localhost:{port}", 403)):
        for path, found in (("/targets", status), ("/targets?pid=1", status), ("", status)):
            line = f"GET HTTP://{host}{path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode()
            answer = served.send(line)
            tap.ok(answer.startswith(f"HTTP/1.1 {found} ".encode()), f"a request's own http://{host}{path}: {found}", answer[:60])
    line = f"GET http://localhost:{port}/targets HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode()
    tap.ok(served.send(line).startswith(b"HTTP/1.1 403 "), "beside it another Host: refused")
    answer = served.send(b"GET /targets HTTP/1.0\r\n\r\n")
    tap.ok(answer.startswith(b"HTTP/1.") and b" 400 " in answer[:14], "no Host: 400", answer[:60])
    two = f"GET /targets HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n".encode()
    tap.ok(not served.send(two).startswith(b"HTTP/1.1 200"), "two of them: refused")
    for headers, status in (({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
                            ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Sec-Fetch-Site": "none"}, 200),
                            ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200)):
        tap.equal(served.get("/debug/pprof/heap", headers=headers).status, status, f"{headers}: {status}")
    for origin, status in ((f"http://127.0.0.1:{port}", 200), (f"http://localhost:{port}", 200), (f"http://[::1]:{port}", 200),
                           ("http://evil.com", 403), ("null", 403), ("", 403), (f"https://127.0.0.1:{port}", 403),
                           (f"http://127.0.0.1:{port + 1}", 403), ("http://127.0.0.1", 403), (f"http://evil.com:{port}", 403),
                           (f"http://127.0.0.1:{port}.evil.com", 403), (f"127.0.0.1:{port}", 403)):
        for more in ({}, {"Sec-Fetch-Site": "same-origin"}):
            answer = served.get("/debug/pprof/heap", headers={"Origin": origin, **more})
            tap.equal(answer.status, status, f"Origin: {origin}{' from here' if more else ''}: {status}")
    answer = served.get("/debug/pprof/symbol", "POST", b"0x1", headers={"Origin": "http://evil.com", "Sec-Fetch-Mode": "navigate"})
    tap.equal(answer.status, 403, "a form of another site: 403")
    two = f"GET /targets HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nOrigin: http://evil.com\r\n\r\n"
    tap.ok(served.send(two.encode()).startswith(b"HTTP/1.1 403"), "two origins: refused")


def check_several(place, first):
    second = server.Rhythm(place, "other")
    with server.Server() as served:
        answer = served.get("/debug/pprof/heap")
        tap.ok(answer.status == 300 and f"{first.pid}  rhythm" in answer.text and f"{second.pid}  other" in answer.text,
               "several processes: 300, and which there are", answer.text)
        tap.equal(served.get(f"/debug/pprof/heap?pid={second.pid}").status, 200, "several processes: ?pid= chooses")
        tap.equal(len(json.loads(served.get("/targets").body)), 2, "several processes: so many targets")
    for option, value in (("--pid", second.pid), ("--name", "oth*")):
        with server.Server(option, value) as served:
            second.tell("keep 3 7")
            path = parsed(settled(served, "/debug/pprof/heap")).mappings[0].path
            tap.equal(os.path.basename(path), "other", f"{option} chooses")
            answer = served.get(f"/debug/pprof/heap?pid={first.pid}")
            tap.equal(answer.status, 200, f"{option}: others may be asked for")
    with server.Server("--name", "oth*") as served, concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(served.get, "/debug/pprof/heap?seconds=2")
        time.sleep(0.5)
        second.tell("end")
        second.process.wait()
        tap.equal(served.get("/debug/pprof/heap").status, 404, "--name: there is none any more")
        third = server.Rhythm(place, "other")
        tap.equal(served.get("/debug/pprof/heap").status, 200, "--name: one that has just begun is found at once")
        third.process.kill()
        answer = waiting.result()
        tap.ok(answer.status == 404 and "has ended" in answer.text, "a difference to a process that ended", answer.text)
    for arguments, status, said in ((("--pid", second.pid), 6, "isn't there"), (("--pid", "x"), 2, "not the number"),
                                    (("--listen", "0.0.0.0:0"), 2, "--allow-remote"),
                                    (("--listen", "nonsense"), 2, "not ADDRESS:PORT"),
                                    (("--listen", "127.0.0.1:99999"), 2, "not ADDRESS:PORT"),
                                    (("--pid", first.pid, "--name", "x"), 2, "exclude"),
                                    (("x",), 2, "takes no argument"),
                                    (("--listen", "192.0.2.1:0", "--allow-remote"), 5, "can't listen there")):
        result = live.cprof("serve", *arguments)
        tap.ok(result.returncode == status and said in result.stderr.splitlines()[0] and result.stdout == "",
               f"{arguments}: exits with {status}, and says why", result)


def check_remote():
    with server.Server("--allow-remote", "--host", "box.example", listen="0.0.0.0:0") as served:
        port = served.port
        hosts = {f"127.0.0.1:{port}": 200, f"10.1.2.3:{port}": 200, f"box.example:{port}": 200,
                 f"{socket.gethostname()}:{port}": 200, f"evil.example:{port}": 403, "box.example": 403}
        tap.equal({host: served.get("/targets", headers={"Host": host}).status for host in hosts}, hosts,
                  "--allow-remote: its addresses and its names, and no others")


def check_marks():
    """What is in use is exact, an estimate, or at least that; and differences say what the profile says."""
    steps = under.program("system/steps")
    with live.Place() as place, server.Server() as served:
        started = {"": place.start([steps, "keep_a:100:10", "say:done", "sleep:60000"]),
                   "≈": place.start([steps, "keep_a:100:10", "say:done", "sleep:60000"], RATE="64"),
                   "≥": place.start([steps, "sizes:30000", "say:done", "sleep:60000"], MAX_MEMORY="1M")}
        wanted = {process.pid: mark for mark, process in started.items()}
        listed = json.loads(served.get("/api/processes").body)["processes"]
        tap.equal({process["pid"]: process["inuse_mark"] for process in listed if process["pid"] in wanted}, wanted,
                  "what is in use is marked by how it is known")
        for mark, said in (("", "; every allocation recorded"), ("≥", "; records are incomplete")):
            profile = parsed(served.get(f"/debug/pprof/heap?pid={started[mark].pid}&seconds=1"))
            tap.ok(len(profile.comments) == 1 and "difference over" in profile.comments[0] and
                   profile.comments[0].endswith(said), f"a difference: {said[2:]}", profile.comments)


def check_ends(program):
    with server.Server() as served:
        result = live.cprof("serve", "--listen", f"127.0.0.1:{served.port}")
        tap.ok(result.returncode == 5 and result.stderr == f"cprof: 127.0.0.1:{served.port}: can't listen there: "
               "Address already in use\n", "an address that is taken: one line, and exit status 5", result)
        with served.connect() as idle, concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(served.get, "/debug/pprof/heap?seconds=60")
            time.sleep(0.5)
            begun = time.monotonic()
            status = served.stop(signal.SIGTERM)
            tap.ok(status == 0 and served.stderr == "" and time.monotonic() - begun < 2,
                   "SIGTERM: ends at once, with 0", (status, served.stderr))
            tap.equal(waiting.result().status, 503, "SIGTERM: whoever waits is told")
            idle.close()
    with server.Server() as served:
        tap.equal(served.stop(signal.SIGINT), 0, "SIGINT: ends with 0")
    tap.equal(program.tell("keep 1 1"), "done", "the process never noticed")


with live.Place() as PLACE:
    PROGRAM = server.Rhythm(PLACE)
    with server.Server() as SERVED:
        check_profiles(PLACE, SERVED, PROGRAM)
        check_text(PLACE, SERVED, PROGRAM)
        check_difference(SERVED, PROGRAM)
        check_go(PLACE, SERVED, PROGRAM)
        check_scrapers(PLACE, SERVED, PROGRAM)
        check_statuses(SERVED)
        check_readme(SERVED, PROGRAM)
        check_hosts(SERVED)
    check_several(PLACE, PROGRAM)
    check_marks()
    check_remote()
    check_ends(PROGRAM)
tap.done()
