#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of cprof serve in Chromium, as serve_idle.js and serve_browser.js use it. Pictures stay in build/browser."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import browser  # noqa: E402
import live  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

EVIL = "<img src=x onerror=window.evil=1>"

reason = browser.missing()
if reason:
    tap.skip_all(reason)
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")

with server.Server() as served:
    browser.run("serve_idle.js", served.address, under.program("serve/rhythm"), under.LIBRARY, str(served.process.pid))
with live.Place() as place:
    program, evil = server.Rhythm(place), server.Rhythm(place, EVIL)
    evil.tell("keep 10 1000")
    program.say("beat 120")
    with server.Server("--pid", program.pid) as served:
        browser.run("serve_browser.js", served.address, str(program.pid), str(evil.pid), str(served.process.pid))
tap.done()
