#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make install` and `make uninstall`: what they put where, that it works from there, and that nothing stays."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402


UNITS = ("cprof-serve.service", "cprof-serve@.service")


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
        tap.equal(others, {"cprof.1", "cprof", "_cprof", "serve.md", *UNITS}, f"{what}: manual pages, completions, units, no others")
        yield place
        tap.equal(make("uninstall", *arguments).returncode, 0, f"{what}: make uninstall")
        tap.equal(files(place), set(), f"{what}: nothing stays")


if os.path.dirname(under.LIBRARY) != os.path.join(under.ROOT, "build"):
    tap.skip_all("the library to be tested is not the one that is built here")

def check_units(root, bindir):
    """The units are units, run the command that was installed, and listen where no other machine comes."""
    paths = {name: os.path.join(root, "usr/local/lib/systemd", where, name) for name, where in zip(UNITS, ("user", "system"))}
    for name, path in paths.items():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        start = [line.split("=", 1)[1] for line in text.splitlines() if line.startswith("ExecStart=")]
        tap.ok(start == [f"{bindir}/cprof serve --listen ${{LISTEN}}"] and "LISTEN=127.0.0.1:" in text and "@BIN" not in text
               and "@DOC" not in text, f"{name}: runs the installed command, on the loopback", text)
        if not shutil.which("systemd-analyze"):
            tap.skip(f"{name}: verified", "systemd-analyze is not installed")
            continue
        manager = ["--user"] if name == UNITS[0] else []
        named = os.path.join(root, name.replace("@", "@root"))
        with open(named, "w", encoding="utf-8") as file:
            file.write(text.replace(bindir, root + bindir))  # it wants to see the command
        result = subprocess.run(["systemd-analyze", *manager, "--man=no", "verify", named], capture_output=True, text=True,
                                check=False)
        os.unlink(named)
        said = [line for line in result.stderr.splitlines() if "cprof" in line]
        tap.ok(not said, f"{name}: verified", said)


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
    check_units(root, "/usr/local/bin")
    tap.ok(version.returncode == 0 and version.stdout.startswith("cprof "), "the installed command works", version)

moved = {"opt/l/libcprof.so", "opt/l/libcprof-backend.so", "opt/b/cprof", "opt/i/cprof.h"}
for root in check("all moved", moved, ["LIBDIR=/opt/l", "BINDIR=/opt/b", "INCLUDEDIR=/opt/i", "MANDIR=/opt/m", "DOCDIR=/opt/d"]):
    compiler = ["gcc", "-xc", "-Wall", "-Werror", "-std=c99", f"-I{root}/opt/i", "-c", "-o", "/dev/null", "-"]
    header = subprocess.run(compiler,
                            input="#include <cprof.h>\nint f(void) { return cprof_dump ? cprof_dump(0) : 0; }\n",
                            capture_output=True, text=True, check=False)
    tap.equal(header.stderr, "", "cprof.h stands alone")
tap.done()
