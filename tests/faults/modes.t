#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever the umask: records are the user's alone, who can always read them, and profiles are as open as the program's own
files."""
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL = under.program("live/still")
NOBODY = 65534
USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

if not live.private_shm("64M"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def mode(path):
    return oct(stat.S_IMODE(os.stat(path).st_mode))


def start(place, mask, user):
    """Waits at its line; its umask, and user if any."""
    change = f"umask {mask:04o}; exec "
    command = ["sh", "-c", change + '"$@"', "sh", STILL, "sleep"]
    if user:
        command = [*USER, *command]
    return place.start(command, ONLY="still", SYMBOLIZE="on")


def check(mask, user=None):
    what = f"umask {mask:04o}{', not root' if user else ''}"
    uid = user or os.geteuid()
    with live.Place() as place:
        if user:
            os.chown(place.path, user, user)
        process = start(place, mask, user)
        killed = start(place, mask, user)
        (segment,) = (f"/dev/shm/cprof-{uid}/{name}" for name in os.listdir(f"/dev/shm/cprof-{uid}")
                      if name.startswith(f"{process.pid}-"))
        tap.equal((mode(os.path.dirname(segment)), mode(segment)), ("0o700", "0o600"),
                  f"{what}: the records and their directory are the user's alone")
        as_user = {"preexec_fn": lambda: (os.setgid(user), os.setuid(user))} if user else {}
        listed = live.cprof("ls", **as_user)
        tap.ok(listed.stderr.count("\n") == 0 and f"{process.pid} still" in listed.stdout, f"{what}: cprof ls shows it", listed)
        output, errors = process.communicate("\n", timeout=under.TIMEOUT)
        tap.equal((process.returncode, output, errors), (0, "", ""), f"{what}: ends as ever")
        tap.equal(mode(place.out(process.pid)), oct(0o666 & ~mask), f"{what}: the profile is as open as that says")
        killed.kill()
        killed.wait()
        recovered = live.cprof("recover", killed.pid, **as_user)
        tap.equal((recovered.returncode, recovered.stderr), (0, ""), f"{what}: a killed one is recovered")
        tap.equal(under.check([place.out(process.pid), place.out(killed.pid)]), "", f"{what}: both are valid")
        tap.equal(os.listdir(f"/dev/shm/cprof-{uid}"), [], f"{what}: nothing is left")
        os.rmdir(f"/dev/shm/cprof-{uid}")


for bits in (0, 0o022, 0o077, 0o777):
    check(bits)
if os.geteuid() == 0 and under.plain([*USER, "test", "-r", under.LIBRARY, "-a", "-x", STILL]).returncode == 0:
    for bits in (0, 0o077, 0o777):
        check(bits, NOBODY)
else:
    tap.skip("as another user", "not root, or nobody else can read what was built")
tap.done()
