#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where profiles go: CPROF_OUT's template, directories, children by fork and exec, dumps, and what is overwritten:
never the profile of another process of the same run, always that of the run before."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")


class Place:
    """An empty directory, and what is in it after a run."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="cprof-names.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def run(self, steps, out=None, program=STEPS, unknown=None, **settings):
        """Runs the program in the directory. The process's number is in .pid. `unknown`: what in the name stands for nothing,
        which is said."""
        environment = under.environment({"RATE": "1", **({"OUT": out} if out else {}), **settings})
        if not out:
            del environment["CPROF_OUT"]
        process = subprocess.Popen([program, *steps], env=environment, cwd=self.path, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        output, errors = process.communicate(timeout=under.TIMEOUT)
        said = f"cprof[{process.pid}]: CPROF_OUT: '{unknown}' stands for nothing" if unknown else ""
        tap.equal((process.returncode, output, errors[:len(said) or None]), (0, "", said),
                  f"{out or 'default'}: {' '.join(steps)[:60]}")
        self.pid = process.pid
        return self

    def files(self, below=""):
        return sorted(os.path.relpath(os.path.join(where, name), self.path)
                      for where, _, names in os.walk(os.path.join(self.path, below)) for name in names)

    def kept(self, name):
        """What the profile holds of (keep_a, keep_b): bytes that this process allocated itself."""
        profile = pprof.load(os.path.join(self.path, name))
        flat = [0, 0]
        for sample in profile.samples:
            for i, function in enumerate(("keep_a", "keep_b")):
                if profile.pruned(sample)[:1] == [function] and "inherited" not in sample.labels:
                    flat[i] += sample.values["alloc_space"]
        return tuple(flat)

    def all_kept(self):
        return sorted(self.kept(name) for name in self.files())


def check_template():
    with Place() as place:
        place.run(["keep_a:10:1"])
        tap.equal(place.files(), [f"cprof.steps.{place.pid}.pb.gz"], "the default name")
    with Place() as place:
        now = int(time.time())
        place.run([], "%e-%p-%h-%n-%%-%z-%.%t.pb.gz", unknown="%z")
        (name,) = place.files()
        wanted = re.escape(f"steps-{place.pid}-{os.uname().nodename}-1-%-%z-%.") + r"(\d+)\.pb\.gz"
        found = re.fullmatch(wanted, name)
        tap.ok(found and now - 1 <= int(found[1]) <= now + 30,
               "%e %p %h %n %% %t; others stay as they are", name, wanted)
    with Place() as place:
        name = os.path.join(place.path, "%x space.pb")
        shutil.copy(STEPS, name)
        place.run([], "p.%e.gz", program=name)
        tap.equal(place.files(), ["%x space.pb", "p.%x space.pb.gz"], "an odd name of an executable")
    with Place() as place:
        place.run([], "profile%", unknown="%")
        tap.equal(place.files(), ["profile%"], "a % at the end")


def check_invoked_names():
    """%e, and what CPROF_ONLY looks at: a link's name, if the program was started by that; of scripts the
    interpreter's, and never the loader's."""
    with Place() as place:
        link, script, shell = (os.path.join(place.path, name) for name in ("renamed", "script", "my-shell"))
        os.symlink(STEPS, link)
        os.symlink(os.path.realpath("/bin/sh"), shell)
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!{os.path.realpath('/bin/sh')}\nexit 0\n")
        os.chmod(script, 0o755)
        loader = os.path.realpath("/lib64/ld-linux-x86-64.so.2")
        interpreter = os.path.basename(os.path.realpath("/bin/sh"))
        for what, command, steps, name in (
                ("a link", link, ["keep_a:10:1"], "renamed"),
                ("a script", script, [], interpreter),
                ("a link to a shell", shell, ["-c", "exit 0"], "my-shell"),
                ("by the loader", loader, [STEPS, "keep_a:10:1"], "steps")):
            before = place.files()
            place.run(steps, "%e.pb.gz", program=command, ONLY=name)
            new = [file for file in place.files() if file not in before]
            tap.equal(new, [f"{name}.pb.gz"], f"{what}: %e is {name}, which CPROF_ONLY knows it by")
            for file in new:
                os.remove(os.path.join(place.path, file))
            place.run(steps, "%e.pb.gz", program=command, ONLY="ld-linux-x86-64.so.2,script,nothing")
            tap.equal(place.files(), before, f"{what}: by no other name")


def check_directories():
    with Place() as place:
        os.mkdir(os.path.join(place.path, "away"))
        os.mkdir(os.path.join(place.path, "p"))
        place.run(["keep_a:10:1", "chdir:away", "keep_a:10:1"], "p/x.pb.gz")
        tap.equal(place.files(), ["p/x.pb.gz"], "relative to where the program was started, wherever it goes")
    with Place() as place:
        place.run(["chdir:/"], os.path.join(place.path, "x.pb.gz"))
        tap.equal(place.files(), ["x.pb.gz"], "absolute")
    with Place() as place:
        os.symlink("real", os.path.join(place.path, "link"))
        os.mkdir(os.path.join(place.path, "real"))
        place.run([], "link/../x.pb.gz")
        tap.equal(place.files(), ["x.pb.gz"], "dots and links, as the kernel takes them")


def check_overwriting():
    with Place() as place:
        place.run(["keep_a:10:1"], "x.pb.gz")
        place.run(["keep_b:20:1"], "x.pb.gz")
        tap.equal((place.files(), place.kept("x.pb.gz")), (["x.pb.gz"], (0, 20)), "the next run's replaces it")
        mode = os.stat(os.path.join(place.path, "x.pb.gz")).st_mode & 0o777
        mask = os.umask(0o022)
        os.umask(mask)
        tap.equal(oct(mode), oct(0o666 & ~mask), "with the mode that any new file gets")
    with Place() as place:
        with open(os.path.join(place.path, "x.pb.gz"), "w", encoding="ascii") as file:
            file.write("text")
        os.link(os.path.join(place.path, "x.pb.gz"), os.path.join(place.path, "other"))
        place.run(["keep_a:10:1"], "x.pb.gz")
        with open(os.path.join(place.path, "other"), encoding="ascii") as file:
            tap.equal(file.read(), "text", "replaced, not written into")


def check_children():
    fork = ["keep_a:10:1", "fork", "keep_b:20:1"]
    with Place() as place:
        place.run(fork, "x.%p.pb.gz")
        tap.equal(place.all_kept(), [(0, 20), (10, 0)], "fork, %p: a profile each, with what each did")
        tap.ok(f"x.{place.pid}.pb.gz" in place.files(), "the parent's under its number", place.files())
    with Place() as place:
        place.run(fork, "x.pb.gz")
        tap.equal(place.all_kept(), [(0, 20), (10, 0)], "fork without %p: a profile each")
        tap.equal(place.kept("x.pb.gz"), (10, 0), "the parent's has the plain name")
    with Place() as place:
        place.run(["keep_a:10:1", "fork", "keep_b:20:1", "fork", "keep_a:30:1", "fork", "keep_b:40:1"], "x.pb.gz")
        tap.equal(place.all_kept(), [(0, 20), (0, 40), (10, 0), (30, 0)], "four generations, four profiles")
    with Place() as place:
        place.run(fork, "x.%p.pb.gz", FORK="off")
        tap.equal(place.all_kept(), [(10, 0)], "CPROF_FORK=off: the child has none")
    with Place() as place:
        place.run(["keep_a:10:1", "fork", "keep_b:20:1", "_exit:0"], "x.%p.pb.gz")
        tap.equal(place.all_kept(), [(0, 20), (10, 0)], "a child that ends by _exit has its profile")
    chain = ["keep_a:10:1", "exec", "keep_b:20:1", "exec", "keep_a:30:1"]
    for out in ("x.%p.pb.gz", "x.pb.gz", "x.%e.%t.pb.gz"):
        with Place() as place:
            place.run(chain, out)
            tap.equal(place.all_kept(), [(0, 20), (10, 0), (30, 0)], f"exec, {out}: each program's profile is there")
            if out == "x.pb.gz":
                tap.equal([place.kept(name) for name in ("x.pb.gz", "x.2.pb.gz", "x.3.pb.gz")],
                          [(30, 0), (10, 0), (0, 20)], "the last program's has the plain name, the others are numbered")
    for out in ("x.%p.pb.gz", "x.pb.gz"):
        with Place() as place:
            place.run(["keep_a:10:1", "fork", "exec", "keep_b:20:1"], out)
            kept = [pair for pair in place.all_kept() if pair != (0, 0)]
            tap.equal(kept, [(0, 20), (10, 0)], f"fork and exec, {out}: both are there")
    with Place() as place:
        place.run(["keep_a:10:1", "fork", "exec", "keep_b:20:1"], "x.pb.gz")
        count = len(place.files())
        place.run(["keep_a:11:1", "fork", "exec", "keep_b:21:1"], "x.pb.gz")
        tap.equal(place.kept("x.pb.gz"), (11, 0), "the next run's parent replaces the last one's")
        tap.ok(count < len(place.files()) <= 2 * count, "children's have their numbers", place.files())


def check_dumps():
    with Place() as place:
        place.run(["keep_a:10:1", "dump", "keep_a:10:1", "dump", "keep_a:10:1"], "x.%n.pb.gz")
        kept = {name: place.kept(name)[0] for name in place.files()}
        tap.equal(kept, {"x.1.pb.gz": 10, "x.2.pb.gz": 20, "x.3.pb.gz": 30}, "dumps are numbered: %n")
    with Place() as place:
        place.run(["keep_a:10:1", "dump", "keep_a:10:1", "dump", "keep_a:10:1"], "x.pb.gz")
        kept = {name: place.kept(name)[0] for name in place.files()}
        tap.equal(kept, {"x.1.pb.gz": 10, "x.2.pb.gz": 20, "x.pb.gz": 30}, "dumps are numbered, the last one is plain")
    with Place() as place:
        place.run(["keep_a:10:1", "dump:here.pb.gz", "keep_a:10:1"], "x.pb.gz")
        tap.equal({name: place.kept(name)[0] for name in place.files()}, {"here.pb.gz": 10, "x.pb.gz": 20},
                  "a dump to a name goes there")


check_template()
check_invoked_names()
check_directories()
check_overwriting()
check_children()
check_dumps()
tap.done()
