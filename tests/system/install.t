#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make install` and `make uninstall`: what they put where, that it works from there, and that nothing stays."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402


def make(*arguments):
    # Not as a part of the make that runs the tests.
    environment = {name: value for name, value in under.environment(preload=None).items()
                   if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(["make", "-C", under.ROOT, *arguments], env=environment, capture_output=True, text=True,
                          timeout=under.TIMEOUT, check=False)


def files(directory):
    return {os.path.relpath(os.path.join(where, name), directory)
            for where, _, names in os.walk(directory) for name in names}


def check(what, wanted, variables):
    with tempfile.TemporaryDirectory(prefix="cprof-install.") as place:
        arguments = [f"DESTDIR={place}", *variables]
        result = make("install", *arguments)
        tap.equal(result.returncode, 0, f"{what}: make install")
        tap.ok(wanted <= files(place), f"{what}: files", files(place), result.stderr)
        others = {os.path.basename(name) for name in files(place) - wanted}
        tap.equal(others, {"cprof.1", "cprof", "_cprof"}, f"{what}: the manual page, completions, and no others")
        yield place
        tap.equal(make("uninstall", *arguments).returncode, 0, f"{what}: make uninstall")
        tap.equal(files(place), set(), f"{what}: nothing stays")


if os.path.dirname(under.LIBRARY) != os.path.join(under.ROOT, "build"):
    tap.skip_all("the library to be tested is not the one that is built here")

default = {"usr/local/lib/libcprof.so", "usr/local/lib/libcprof-backend.so", "usr/local/bin/cprof",
           "usr/local/include/cprof.h"}
for root in check("defaults", default, []):
    out = os.path.join(root, "x.pb.gz")
    library = os.path.join(root, "usr/local/lib/libcprof.so")
    installed = under.run([under.program("system/steps"), "keep_a:100:10"], {"RATE": "1", "OUT": out}, library)
    tap.equal(under.outcome(installed), (0, "", ""), "the installed library works")
    tap.equal(pprof.load(out).flat("alloc_space")["keep_a"], 1000, "and profiles")
    os.remove(out)
    version = subprocess.run([os.path.join(root, "usr/local/bin/cprof"), "--version"], capture_output=True, text=True,
                             check=False)
    tap.ok(version.returncode == 0 and version.stdout.startswith("cprof "), "the installed command works", version)

moved = {"opt/l/libcprof.so", "opt/l/libcprof-backend.so", "opt/b/cprof", "opt/i/cprof.h"}
for root in check("all moved", moved, ["LIBDIR=/opt/l", "BINDIR=/opt/b", "INCLUDEDIR=/opt/i", "MANDIR=/opt/m"]):
    compiler = ["gcc", "-xc", "-Wall", "-Werror", "-std=c99", f"-I{root}/opt/i", "-c", "-o", "/dev/null", "-"]
    header = subprocess.run(compiler,
                            input="#include <cprof.h>\nint f(void) { return cprof_dump ? cprof_dump(0) : 0; }\n",
                            capture_output=True, text=True, check=False)
    tap.equal(header.stderr, "", "cprof.h stands alone")
tap.done()
