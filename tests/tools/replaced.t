#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof symbolize takes its time, and the program may write its next profile to the same place meanwhile: that one stays."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import toolkit  # noqa: E402
import tap  # noqa: E402  found by toolkit
import under  # noqa: E402


def caught_reading(profile, library):
    """`cprof symbolize` stopped while it has the library open; None if it was done before that was seen."""
    process = subprocess.Popen([under.CPROF, "symbolize", profile], stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/maps", encoding="ascii") as file:
                if library not in file.read():
                    continue
        except OSError:
            continue
        process.send_signal(signal.SIGSTOP)
        return process
    process.communicate()
    return None


def main():
    with tempfile.TemporaryDirectory(prefix="cprof-replaced.") as where:
        raw, profile, text = (os.path.join(where, name) for name in ("raw.pb.gz", "x.pb.gz", "text"))
        program = os.path.join(where, "a-program-of-its-own")
        shutil.copy(under.CPROF, program)
        toolkit.record([program, "--version"], raw)
        for _ in range(50):
            shutil.copy(raw, profile)
            process = caught_reading(profile, program)
            if process:
                break
        else:
            tap.skip("a profile that was replaced", "the symbolizer was never caught at work")
            tap.done()
        with open(text, "w", encoding="ascii") as file:
            file.write("the next profile")
        os.rename(text, profile)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=under.TIMEOUT)
        with open(profile, "rb") as file:
            tap.equal(file.read(), b"the next profile", "what took the profile's place stays")
        tap.equal((process.returncode, errors), (4, f"cprof: {profile}: is another file by now; left as it is\n"),
                  "which is said")
        tap.equal(sorted(os.listdir(where)), ["a-program-of-its-own", "raw.pb.gz", "x.pb.gz"], "and nothing is left behind")
    tap.done()


main()
