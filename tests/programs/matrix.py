# SPDX-License-Identifier: Apache-2.0
"""The matrix of real programs: what a case is, how it is run, and what a run left.

    case = matrix.Case("jq", "jq", executables={"jq": 1}, script="jq ...")
    with matrix.Bench(case) as bench:
        run = bench.run(matrix.RATE_1)
        run.status, run.output, run.errors, run.wall, run.peak, run.profiles, run.counts
"""
import collections
import dataclasses
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import under  # noqa: E402

WITNESS = under.program("programs/witness_plugin.so")
MEASURE = os.path.join(under.ROOT, "build", "bench-programs", "measure")
RATE = 524288  # the default
LIMIT = 60     # seconds for a run
# Debian's programs, whatever else is installed on the machine.
PATH = "/usr/local/nothing:/usr/sbin:/usr/bin:/sbin:/bin"

# How a script is run: its settings, or None for without the library; and the witness, too.
Way = collections.namedtuple("Way", "words settings witnessed")
PLAIN = Way("without the library", None, False)
DEFAULT = Way("at the default rate", {}, False)
RATE_1 = Way("recording everything", {"RATE": "1"}, False)
WITNESSED = Way("recording everything, witnessed", {"RATE": "1"}, True)
WITNESSED_DEFAULT = Way("at the default rate, witnessed", {}, True)


@dataclasses.dataclass
class Case:
    """A shell script, and what it must leave. The script starts in an empty directory, which is its HOME, has $PORT,
    a port that is free, $SOURCES, this repository's directory, and $PROGRAMS, that of the tests' own programs.

    name         of the program, as the table shows it
    needs        commands that must be there, as "command" or "command:package" where the names differ
    executables  {pattern of executables' names: least number of profiles}
    status       the script's
    varies       [(regular expression, replacement)]: what differs from run to run without the library, too
    quick        it is part of `make check`
    killed       patterns of executables whose processes may end without writing a profile; these are recovered
    steady       it allocates the same in each run, byte for byte: runs are compared with one another as well
    bare         patterns of executables that make children by a bare system call; these may be killed without leaving
                 anything, and count from their first sample
    frees_late   {pattern: most blocks}: what may be freed once the last profile is written, by whoever runs at the very end
    silent       those of executables whose profile is empty: they bring a malloc of their own
    unseen       executables that run and have no profile, since they can't load the library
    """
    name: str
    needs: str
    executables: dict
    script: str
    status: int = 0
    varies: tuple = ()
    quick: bool = False
    killed: tuple = ()
    bare: tuple = ()
    frees_late: dict = dataclasses.field(default_factory=dict)
    steady: bool = False
    silent: tuple = ()
    unseen: tuple = ()

    def missing(self):
        """Packages to install for it."""
        pairs = [need.partition(":") for need in self.needs.split()]
        return [package or command for command, _, package in pairs if not shutil.which(command, path=PATH)]

    def normal(self, text):
        for pattern, replacement in self.varies:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        return text


def short_name(path):
    """A profile's executable."""
    return os.path.basename(path).partition("@")[0]


def process(path):
    """The number of a profile's process. (Two programs may have run in it, one after the other.)"""
    return int(re.match(r"\d+", os.path.basename(path).partition("@")[2])[0])


class Run:
    """What one run of a script did and left; `bench` is emptied again by the next."""

    def __init__(self, bench, way):
        self.way, self.bench = way, bench
        self.profiles = sorted(glob.glob(f"{bench.profiles}/*.pb.gz"))
        self.strangers = sorted(set(os.listdir(bench.profiles)) - {os.path.basename(path) for path in self.profiles})
        self.output, self.errors = (self._text(name) for name in ("output", "errors"))
        with open(bench.file("result"), encoding="ascii") as file:
            figures = dict(line.split() for line in file)
        self.status, self.peak = int(figures["status"]), int(figures["peak_kib"])
        self.wall, self.cpu = (int(figures[name]) / 1e9 for name in ("wall_ns", "cpu_ns"))
        self.recovered = []
        self.left_running = []

    def _text(self, name):
        with open(self.bench.file(name), encoding="utf-8", errors="replace") as file:
            return self.bench.case.normal(file.read())

    def outcome(self):
        return self.status, self.output, self.errors

    def names(self):
        return collections.Counter(short_name(path) for path in self.profiles)

    def counts(self):
        """{number of a process: [calls, bytes, frees]} by the witness."""
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for path in glob.glob(f"{self.bench.counts}/*"):
            with open(path, "rb") as file:
                for i in range(3):
                    sums[process(path)][i] += int.from_bytes(file.read(8), "little")
        return sums


class Bench:
    """A place for the runs of a case: the same paths each time, since these are in blocks, too."""

    def __init__(self, case):
        self.case = case

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="cprof-programs.")
        os.chmod(self.path, 0o711)  # some servers run as another user
        self.work, self.profiles, self.counts = (self.file(name) for name in ("work", "profiles", "counts"))
        self.port = str(under.free_port())
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def _environment(self):
        return {"PATH": PATH, "HOME": self.work, "TMPDIR": self.work, "LC_ALL": "C", "TERM": "dumb", "PORT": self.port,
                "SOURCES": under.ROOT, "PROGRAMS": os.path.join(under.ROOT, "build/tests/system")}

    def _variables(self, way):
        """Those of the script alone."""
        if way.settings is None:
            return {}
        settings = {**way.settings, "OUT": f"{self.profiles}/%e@%p.pb.gz"}
        preload = f"{under.LIBRARY} {WITNESS}" if way.witnessed else under.LIBRARY
        wanted = under.environment(settings, preload, {"WITNESS_DIR": self.counts} if way.witnessed else {})
        return {name: value for name, value in wanted.items() if name == "LD_PRELOAD" or name.startswith(("CPROF", "WITNESS"))}

    def run(self, way):
        for directory in (self.work, self.profiles, self.counts):
            shutil.rmtree(directory, ignore_errors=True)
            os.mkdir(directory)
            os.chmod(directory, 0o1777)
        for name in ("result", "output", "errors"):
            with open(self.file(name), "w", encoding="ascii"):
                pass
        command = [MEASURE, self.file("result"), self.file("output"), self.file("errors"),
                   *(f"{name}={value}" for name, value in self._variables(way).items()), "--", "bash", "-c", self.case.script]
        process = subprocess.Popen(command, cwd=self.work, env=self._environment(), start_new_session=True)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            with open(self.file("result"), "w", encoding="ascii") as file:
                file.write(f"wall_ns {LIMIT}000000000\ncpu_ns 0\npeak_kib 0\nstatus 999\n")
        left = wait_for_the_rest()
        recovered = recover(self.profiles) if way.settings is not None else []
        run = Run(self, way)
        run.left_running, run.recovered = left, recovered
        return run


def wait_for_the_rest(seconds=10):
    """Of processes that the script left behind, which this one has adopted: names of those that don't end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if not pid:
            time.sleep(0.02)
    names = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                head, _, tail = file.read().rpartition(")")
        except OSError:
            continue
        if tail.split()[1] == str(os.getpid()):
            names.append(head.partition("(")[2])
            os.kill(int(head.split()[0]), signal.SIGKILL)
    time.sleep(0.2)
    return names + wait_for_the_rest() if names else []


def recover(profiles):
    """Profiles of processes that were killed, of whatever user: names of their executables."""
    before = set(os.listdir(profiles))
    for directory in glob.glob("/dev/shm/cprof-*"):
        if not glob.glob(f"{directory}/*.segment"):
            continue
        uid = int(directory.rpartition("-")[2])
        # As their user, who alone may.
        options = {"user": uid, "group": uid} if uid != os.geteuid() else {}
        live.cprof("recover", "--all", "--no-symbolize", "-o", profiles, **options)
        for path in glob.glob(f"{directory}/*.segment"):
            os.unlink(path)
    return [short_name(name) for name in sorted(set(os.listdir(profiles)) - before)]
