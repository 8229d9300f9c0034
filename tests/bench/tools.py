# SPDX-License-Identifier: Apache-2.0
"""What the work is run under: nothing, the profiler in its settings, and those of its peers that are installed."""
import glob
import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Tool:
    """`environment` and `prefix` are what is put before a command; {tmp} in them is a directory for the tool's output.
    `baseline` is the tool without its profiling, which the added cost is counted from; `reader` the shell command that
    reads what it wrote, if it keeps its books there."""

    def __init__(self, name, title, environment=None, prefix=(), baseline="plain", slow=False, reader=None):
        self.name, self.title, self.baseline, self.slow, self.reader = name, title, baseline, slow, reader
        self._environment, self._prefix = environment or {}, list(prefix)

    def environment(self, tmp):
        return {k: v.replace("{tmp}", tmp) for k, v in self._environment.items()}

    def prefix(self, tmp):
        return [word.replace("{tmp}", tmp) for word in self._prefix]


def _library(*patterns):
    for pattern in patterns:
        for directory in ("/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib"):
            found = sorted(glob.glob(os.path.join(directory, pattern)))
            if found:
                return found[0]
    return None


def _jemalloc_profiles(library):
    environment = {"LD_PRELOAD": library, "MALLOC_CONF": "prof:true", "PATH": os.environ["PATH"]}
    run = subprocess.run(["cat"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=environment, check=False)
    return b"Invalid conf" not in run.stdout


def find(build, library):
    """All tools by name, and what is not there with how to get it."""
    def cprof(name, title, rate, **more):
        return Tool(name, title, {"LD_PRELOAD": library, "CPROF_RATE": rate, "CPROF_OUT": "{tmp}/%e.%p.pb.gz",
                                  "CPROF_SYMBOLIZE": "off", **more})

    tools = [
        Tool("plain", "nothing"),
        Tool("forward", "bare forwarding preload", {"LD_PRELOAD": os.path.join(build, "libforward.so")}),
        cprof("off", "cprof, rate 0", "0"),
        cprof("default", "cprof, default rate", "524288"),
        cprof("rate1", "cprof, rate 1", "1"),
        cprof("rate1-fp", "cprof, rate 1, frame pointers", "1", CPROF_UNWIND="fp"),
    ]
    missing = []

    preload = _library("heaptrack/libheaptrack_preload.so")
    interpret = _library("heaptrack/libexec/heaptrack_interpret")
    if preload:
        tools.append(Tool("heaptrack-lib", "heaptrack's library alone",
                          {"LD_PRELOAD": preload, "DUMP_HEAPTRACK_OUTPUT": "{tmp}/heaptrack.raw"},
                          reader=interpret and interpret + " < {tmp}/heaptrack.raw"))
    if shutil.which("heaptrack"):
        tools.append(Tool("heaptrack", "heaptrack PROGRAM", prefix=["heaptrack", "-o", "{tmp}/heaptrack"], slow=True))
    if not preload or not shutil.which("heaptrack"):
        missing.append("heaptrack: apt-get install heaptrack")

    tcmalloc = _library("libtcmalloc.so", "libtcmalloc.so.4")
    if tcmalloc:
        tools.append(Tool("tcmalloc", "tcmalloc", {"LD_PRELOAD": tcmalloc}))
        tools.append(Tool("tcmalloc-prof", "tcmalloc, HEAPPROFILE",
                          {"LD_PRELOAD": tcmalloc, "HEAPPROFILE": "{tmp}/tcmalloc"}, baseline="tcmalloc",
                          slow=True))
    else:
        missing.append("tcmalloc: apt-get install libgoogle-perftools4")

    jemalloc = _library("libjemalloc.so.2")
    if jemalloc:
        tools.append(Tool("jemalloc", "jemalloc", {"LD_PRELOAD": jemalloc}))
    if jemalloc and _jemalloc_profiles(jemalloc):
        tools.append(Tool("jemalloc-prof", "jemalloc, prof:true",
                          {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,prof_final:true,prof_prefix:{tmp}/je"},
                          baseline="jemalloc"))
    else:
        missing.append("jemalloc with its profiler: apt-get install libjemalloc2, or build it with --enable-prof")

    if shutil.which("valgrind"):
        tools.append(Tool("dhat", "valgrind --tool=dhat", slow=True,
                          prefix=["valgrind", "-q", "--tool=dhat", "--dhat-out-file={tmp}/dhat.out"]))
    else:
        missing.append("dhat: apt-get install valgrind")
    return {t.name: t for t in tools}, missing
