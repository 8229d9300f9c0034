# SPDX-License-Identifier: Apache-2.0
"""One case of the corpus: what its header says (see README.md), how it is built, run and judged."""
import collections
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import pprof  # noqa: E402

COMPILE = {"CC": "gcc -O1 -g -D_GNU_SOURCE", "CXX": "g++ -O1 -g -D_GNU_SOURCE"}
# How a case is run: settings of the library, or None for a run without it.
MODES = {
    "plain": None,
    "rate 1": {"CPROF_RATE": "1"},
    "default rate": {"CPROF_SEED": os.environ.get("CORPUS_SEED", "1")},
    "frame pointers": {"CPROF_RATE": "1", "CPROF_UNWIND": "fp"},
}
SKIPPED = 77
SLACK = 3  # machines are slow and busy: a hang is a hang after three times as long, too

Outcome = collections.namedtuple("Outcome", "skip faults")
Figures = collections.namedtuple("Figures", "function alternatives")


class Case:
    """The header of a source file. `expect` is by keyword: the rest of each line."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.relpath(path, HERE))[0]
        self.script = path.endswith(".sh")
        self.builds, self.needs, self.env = [], [], {}
        self.expect = collections.defaultdict(list)
        with open(path, encoding="utf-8") as file:
            for line in file:
                found = re.match(r"(?: \*|#) (BUILD|NEEDS|ENV|EXPECT) (.*)", line)
                if not found:
                    if not re.match(r"(/\*| \*|#)", line):
                        break
                    continue
                keyword, rest = found.group(1), found.group(2).strip()
                if keyword == "BUILD":
                    self.builds.append(rest)
                elif keyword == "NEEDS":
                    self.needs.append(rest)
                elif keyword == "ENV":
                    self.env.update([rest.split("=", 1)])
                else:
                    kind, _, rest = rest.partition(" ")
                    self.expect[kind].append(rest)
        unknown = set(self.expect) - KEYWORDS
        if unknown:
            raise ValueError(f"{path}: EXPECT {', '.join(sorted(unknown))}")
        if not self.builds and not self.script:
            self.builds.append("$CXX $SRC -o $BIN" if path.endswith(".cc") else "$CC $SRC -o $BIN")

    def one(self, kind, default):
        return self.expect[kind][0] if self.expect[kind] else default

    def figures(self, kind):
        for line in self.expect[kind]:
            function, rest = line.split(None, 1)
            yield Figures(function, [alternative.split() for alternative in rest.split("|")])

    def binary(self, folder):
        return os.path.join(folder, self.name)

    def frame_pointers(self):
        return any("-fno-omit-frame-pointer" in build for build in self.builds)

    # ---- Building ----

    def missing(self):
        """What the case needs and is not there, or None."""
        for need in self.needs:
            kind, _, what = need.partition(" ")
            if kind == "root":
                there = os.geteuid() == 0
            elif kind == "command":
                there = shutil.which(what) is not None
            elif kind == "cpu":
                with open("/proc/cpuinfo", encoding="utf-8") as file:
                    there = re.search(rf"^flags\b.*\b{what}\b", file.read(), re.MULTILINE)
            elif kind == "link":
                program = "int main(void) { return 0; }\n"
                there = subprocess.run(["gcc", "-x", "c", "-", "-o", "/dev/null", *what.split()], text=True,
                                       input=program, stderr=subprocess.DEVNULL, check=False).returncode == 0
            else:
                raise ValueError(f"{self.path}: NEEDS {need}")
            if not there:
                return f"{what or kind} is needed"
        return None

    def build(self, folder):
        """Builds what is out of date. Returns what went wrong, or None."""
        binary = self.binary(folder)
        stamp = binary + ".built"
        headers = os.path.join(os.path.dirname(self.path), "*.h")
        sources = [self.path, *glob.glob(headers), *glob.glob(os.path.join(HERE, "case.*"))]
        if os.path.exists(stamp) and os.path.getmtime(stamp) > max(map(os.path.getmtime, sources)):
            return None
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        env = dict(os.environ, SRC=self.path, BIN=binary, **{k: f"{v} -I{ROOT}" for k, v in COMPILE.items()})
        commands = [["bash", self.path, "build"]] if self.script else [["bash", "-ec", line] for line in self.builds]
        for command in commands:
            done = subprocess.run(command, env=env, cwd=os.path.dirname(binary), capture_output=True, text=True,
                                  check=False)
            if done.returncode:
                return f"{command[-1]}: {done.stderr.strip()[:1000]}"
        with open(stamp, "w", encoding="utf-8"):
            pass
        return None

    # ---- Running ----

    def run(self, folder, mode, library, checker):
        """Runs the case once. `mode` is one of MODES."""
        scratch = tempfile.mkdtemp(prefix="corpus.")
        try:
            return self._run(folder, mode, library, checker, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _run(self, folder, mode, library, checker, scratch):
        settings = MODES[mode]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("CPROF_", "LD_"))}
        env.update(TMPDIR=scratch, BIN=self.binary(folder), CPROF_LIB="")
        if settings is not None:
            name = "/prof.%e.%p.pb.gz" if mode == "default rate" else "/prof"
            env.update(CPROF_LIB=library, CPROF_OUT=scratch + name, CPROF_SYMBOLIZE="off", **settings)
            if not self.script:
                env["LD_PRELOAD"] = library
            env.update(self.env)
        command = ["bash", self.path, "run"] if self.script else [self.binary(folder)]
        limit = SLACK * float(self.one("timeout", "10"))
        started = time.time()
        process = subprocess.Popen(command, cwd=scratch, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Outcome(None, [f"still running after {limit:g} s"])
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        err = err.decode(errors="replace").strip()
        if status == SKIPPED:
            return Outcome(err or "the case says so", [])
        faults = []
        if str(status) not in self.one("exit", "0").split("|"):
            faults.append(f"exit status {status}, wanted {self.one('exit', '0')}")
        if out.decode(errors="replace").split() != self.one("stdout", "ok").split(","):
            faults.append(f"stdout {out[-200:]!r}, wanted {self.one('stdout', 'ok')}")
        if faults:
            return Outcome(None, faults + [f"stderr: {err[-1000:]}"])
        if settings is not None:
            faults = Judge(self, mode, started, scratch, checker).judge()
        return Outcome(None, faults)


from judge import KEYWORDS, Judge  # noqa: E402  knows Case by what it is given
