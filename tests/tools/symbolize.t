#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof symbolize: where names come from, wherever programs and their debug files have gone to, and its options.
(That the names are right: symbolize_agrees.t.)"""
import os
import resource
import shutil
import stat
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import toolkit  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402
from elfsym import ElfSymbols  # noqa: E402

WORKLOADS = os.path.join(under.ROOT, "build", "workloads")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def moved_away(directory):
    away = os.path.join(directory, "away")
    os.mkdir(away)
    copy = os.path.join(directory, "batch")
    shutil.copy(os.path.join(WORKLOADS, "message_batch"), copy)
    raw, moved = os.path.join(directory, "batch.pb.gz"), os.path.join(away, "profile.pb.gz")
    toolkit.record([copy, "growing"], raw)
    tap.equal(toolkit.cprof("symbolize", raw).returncode, 0, "in place")
    os.remove(copy)
    os.rename(raw, moved)
    frames = [frame for _, _, all_of in toolkit.located(moved) for frame in all_of if frame.name == "build_message_batch_growing"]
    places = {(os.path.basename(frame.file), frame.line > 0) for frame in frames}
    tap.equal(places, {("message_batch.c", True)}, "the workload's function has its file and line")
    tool = toolkit.pprof_tool()
    if not tool:
        tap.skip("pprof shows it without the binary or binutils", "no go")
        return
    environment = {"PATH": "/nonexistent", "HOME": away, "PPROF_TMPDIR": away, "PPROF_BINARY_PATH": away}
    tops = {}
    for option in ("-top", "-lines", "-list=build_message"):
        more = ["-top"] if option == "-lines" else []
        tops[option] = subprocess.run([*tool, *more, option, "-alloc_space", "-source_path", under.ROOT, moved], cwd=away,
                                      env=environment, capture_output=True, text=True, check=False)
    tap.ok("build_message_batch_growing" in tops["-top"].stdout and "[batch]" not in tops["-top"].stdout,
           "pprof -top shows it without the binary or binutils", tops["-top"].stdout, tops["-top"].stderr)
    tap.ok("message_batch.c:" in tops["-lines"].stdout, "pprof -lines shows the line", tops["-lines"].stdout)
    tap.ok("realloc" in tops["-list=build_message"].stdout, "pprof -list shows the source", tops["-list=build_message"].stdout,
           tops["-list=build_message"].stderr)


def inlined(directory):
    target, raw = os.path.join(directory, "inl"), os.path.join(directory, "inl.pb.gz")
    if not toolkit.build("g++", os.path.join(HERE, "shapes.cc"), target, "-O2", "-g"):
        tap.skip("inlined functions", "no g++")
        return
    toolkit.record([target], raw)
    toolkit.cprof("symbolize", raw)
    stacks = [[frame.name for frame in frames] for _, _, frames in toolkit.located(raw)]
    wanted = ["geo::(anonymous namespace)::tiny", "geo::(anonymous namespace)::wrapped", "main"]
    tap.ok(wanted in stacks, "a location has its inlined functions, the innermost first", stacks)
    tool = toolkit.pprof_tool()
    if not tool:
        tap.skip("pprof says (inline)", "no go")
        return
    top = subprocess.run([*tool, "-top", "-alloc_space", "-nodefraction=0", "-edgefraction=0", raw], capture_output=True, text=True, check=False).stdout
    tap.ok("geo::(anonymous namespace)::tiny (inline)" in top, "pprof says (inline)", top)


LAMBDAS = """
#include <cstdlib>
void *volatile sink;
int main(int argc, char **) {
    auto any = [](auto n) __attribute__((always_inline)) { sink = malloc(n); };
    auto some = [](int n) __attribute__((always_inline)) { sink = malloc(n + 1); };
    any(long(argc));
    some(argc);
    return 0;
}
"""


def lambdas(directory):
    """With -g1 they have no names for the linker, nor scopes around them."""
    source, target, raw = (os.path.join(directory, name) for name in ("lambdas.cc", "lambdas", "lambdas.pb.gz"))
    with open(source, "w", encoding="ascii") as file:
        file.write(LAMBDAS)
    if not toolkit.build("g++", source, target, "-O2", "-g1", "-std=c++17"):
        tap.skip("lambdas", "no g++")
        return
    toolkit.record([target], raw)
    for style, names in (("simple", ["operator()", "operator()"]), ("templates", ["operator()", "operator()<long int>"])):
        done = os.path.join(directory, style)
        toolkit.symbolize(raw, done, "--demangle", style)
        tap.equal(sorted(frame.name for _, _, frames in toolkit.located(done) for frame in frames if "operator" in frame.name), names,
                  f"inlined lambdas of -g1, {style}")


# ---- Debug files elsewhere ----


def debug_files(directory):
    source, whole = os.path.join(HERE, "shapes.cc"), os.path.join(directory, "whole")
    if not (toolkit.build("g++", source, whole, "-O2", "-g") and shutil.which("objcopy")):
        tap.skip("debug files", "no g++ or objcopy")
        return
    debug, linked = os.path.join(directory, "linked.debug"), os.path.join(directory, "linked")
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    subprocess.run(["objcopy", "-S", "--add-gnu-debuglink=" + debug, whole, linked], check=True)
    raw, done = os.path.join(directory, "linked.pb.gz"), os.path.join(directory, "linked.s.gz")
    toolkit.record([linked], raw)

    def lines():
        toolkit.symbolize(raw, done, "--quiet")
        return {frame.name: frame.line for mapping, _, frames in toolkit.located(done) for frame in frames
                if mapping and mapping.path == linked}

    os.rename(debug, debug + ".hidden")
    unnamed = lines()
    tap.ok(unnamed and all(name.startswith("[linked+0x") for name in unnamed) and toolkit.flags_of(done, linked) == set(),
           "without names functions are told apart by where they begin", unnamed)
    shutil.copy(done, raw)
    os.rename(debug + ".hidden", debug)
    tap.ok(lines().get("geo::closure", 0) > 0 and "main" in lines() and toolkit.flags_of(done, linked) == toolkit.FLAGS,
           "by .gnu_debuglink, also over what was filled in before", lines())
    os.remove(debug)

    _, build_id = toolkit.executable_segments(whole)
    place = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if os.geteuid() != 0 or os.path.exists(place):
        tap.skip("by build id", "/usr/lib/debug can't be written")
        return
    toolkit.record([linked], raw)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    try:
        subprocess.run(["objcopy", "--only-keep-debug", whole, place], check=True)
        tap.ok(lines().get("geo::closure", 0) > 0, "by build id in /usr/lib/debug", lines())
        os.remove(linked)
        tap.ok(lines().get("geo::closure", 0) > 0, "by build id, with the program gone", lines())
    finally:
        os.remove(place)
        try:
            os.removedirs(os.path.dirname(place))
        except OSError:
            pass


# `bare` has no unwind tables, as much that is written in assembler; `root` is behind padding, and is returned to.
GAPS = """
#include <stdlib.h>
void *volatile sink;
__attribute__((noinline)) void keep(size_t n) { sink = malloc(n); }
__attribute__((noinline)) void parse(void) { keep(1000); }
__asm__(".text\\n.type bare,@function\\nbare: push %rbp\\n mov %rsp,%rbp\\n mov $4000,%edi\\n call keep\\n"
        "mov $2000,%edi\\n call keep\\n pop %rbp\\n ret\\n.size bare,.-bare\\n"
        ".balign 16\\n nop\\n.balign 16\\n.type root,@function\\nroot: .cfi_startproc\\n ud2\\n.cfi_endproc\\n.size root,.-root\\n");
void bare(void);
int main(void) { parse(); bare(); return 0; }
"""


def gaps(directory):
    source, named, bare = (os.path.join(directory, name) for name in ("gaps.c", "named", "bare"))
    with open(source, "w", encoding="ascii") as file:
        file.write(GAPS)
    if not toolkit.build("gcc", source, named, "-O1", "-no-pie", "-fno-optimize-sibling-calls", "-fno-toplevel-reorder"):
        tap.skip("code without unwind tables", "no gcc")
        return
    subprocess.run(["strip", "-o", bare, named], check=True)
    raw = os.path.join(directory, "bare.pb.gz")
    toolkit.record([bare], raw)
    symbols = subprocess.run(["nm", named], capture_output=True, text=True, check=True).stdout
    starts = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}

    def offset(name):
        return f"[bare+{starts[name] - 0x400000:#x}]"

    rows = {row.split()[-1]: row.split()[3] for row in toolkit.cprof("top", "-cum", "-alloc_space", "-unit=B", raw).stdout.splitlines()
            if row.endswith("]")}
    tap.equal([rows.get(offset(name)) for name in ("parse", "bare", "keep")], ["1000B", "6000B", "7000B"],
              "code without unwind tables is one function of its own, and not the one before it")
    for path, name in ((named, "root"), (bare, offset("root"))):
        segment, build_id = toolkit.executable_segments(path)
        maker = toolkit.Maker()
        mapping = maker.mapping(path, segment[0][1], segment[0][1] + segment[0][2], segment[0][0], build_id)
        maker.sample([maker.location(mapping, starts["root"] - 1)], [1])
        maker.write(raw)
        toolkit.cprof("symbolize", raw)
        tap.equal(toolkit.names(raw), {name}, f"what returns to a function's first byte is in that function: {name}")


# What split DWARF has inlined functions of, all in the line of `main` without it.
SPLIT = """
#include <stdlib.h>
void *volatile sink;
static inline __attribute__((always_inline)) void inner(int n) { sink = malloc(n); }
int main(void) { inner(100); return 0; }
"""


def split_debug_info(directory):
    source, target, raw, done = (os.path.join(directory, name) for name in ("split.c", "split", "split.pb.gz", "split.s.gz"))
    with open(source, "w", encoding="ascii") as file:
        file.write(SPLIT)

    def judge(title, reason):
        result = toolkit.symbolize(raw, done)
        doctor = toolkit.cprof("doctor", target).stdout
        told = f"cprof: {raw}: no inlined functions from {target}: {reason}\n" if reason else ""
        tap.equal((result.stderr, "inline_frames" in toolkit.flags_of(done, target), {"inner", "main"} <= toolkit.names(done),
                   f"no inlined functions ({reason})" in doctor, "lines and inlined functions" in doctor),
                  (told, not reason, not reason, bool(reason), not reason), f"{title}: {reason or 'inlined functions are there'}")

    for compiler, version, packer in (("gcc", 4, "dwp"), ("gcc", 5, None), ("clang", 4, "dwp")):
        kind = f"{compiler}'s split DWARF {version}"
        if not shutil.which(compiler) or (packer and not shutil.which(packer)):
            tap.skip(kind, f"no {compiler} or {packer}")
            continue
        # The .dwo file is named and placed as the object file.
        for flags in (["-O1", f"-gdwarf-{version}", "-gsplit-dwarf", "-c", source, "-o", target + ".o"], [target + ".o", "-o", target]):
            subprocess.run([compiler, *flags], check=True, cwd=directory)
        toolkit.record([target], raw)
        judge(kind, None)
        if packer:
            subprocess.run([packer, "-e", target, "-o", target + ".dwp"], check=True)
        os.remove(target + ".dwo")
        if packer:
            judge(kind, "its debug information is in a .dwp, which is not read")
            os.remove(target + ".dwp")
        judge(kind, "its debug information is in 1 .dwo file that can't be read")


def mini_debug_info(directory):
    source, whole = os.path.join(HERE, "shapes.cc"), os.path.join(directory, "mini-whole")
    if not (toolkit.build("g++", source, whole, "-O2") and shutil.which("objcopy") and shutil.which("xz")):
        tap.skip(".gnu_debugdata", "no g++, objcopy or xz")
        return
    data, mini = os.path.join(directory, "data"), os.path.join(directory, "mini")
    subprocess.run(["objcopy", "--only-keep-debug", whole, data], check=True)
    subprocess.run(["xz", "-f", data], check=True)
    subprocess.run(["objcopy", "-S", "--add-section", f".gnu_debugdata={data}.xz", whole, mini], check=True)
    raw = os.path.join(directory, "mini.pb.gz")
    toolkit.record([mini], raw)
    toolkit.cprof("symbolize", raw)
    tap.ok("geo::closure" in toolkit.names(raw) and "geo::(anonymous namespace)::hidden" in toolkit.names(raw),
           "names from .gnu_debugdata", sorted(toolkit.names(raw)))


# ---- What is not believed ----


def other_builds(directory):
    path, raw, done = (os.path.join(directory, name) for name in ("changing", "changing.pb.gz", "changing.s.gz"))
    shutil.copy(os.path.join(WORKLOADS, "message_batch"), path)
    toolkit.record([path, "growing"], raw)
    for title, other in (("another build", os.path.join(WORKLOADS, "primes")), ("no program", "/etc/passwd")):
        os.remove(path)
        shutil.copy(other, path)
        result = toolkit.symbolize(raw, done)
        frames = [frames for mapping, _, frames in toolkit.located(done) if mapping and mapping.path == path]
        tap.ok(frames and not any(frames), f"{title} at the path: no names from it", frames)
        tap.ok(result.returncode == 0 and result.stderr.startswith(f"cprof: {raw}: no names from {path}: ") and
               result.stderr.count("\n") == 1, f"{title} at the path: one line says so", result.stderr)
        tap.ok(any("libc" in mapping.path and all_of for mapping, _, all_of in toolkit.located(done) if mapping),
               f"{title} at the path: other files give names")
        tap.equal(toolkit.symbolize(raw, done, "--quiet").stderr, "", f"{title} at the path: --quiet says nothing")
    os.remove(path)
    os.mkfifo(path)
    began = time.monotonic()
    tap.ok(toolkit.symbolize(raw, done).returncode == 0 and time.monotonic() - began < 5, "a pipe at the path is not waited for")

    maker = toolkit.Maker()
    plain = os.path.join(directory, "plain")
    if not toolkit.build("gcc", os.path.join(under.ROOT, "workloads", "primes.c"), plain, "-g", "-no-pie", "-Wl,--build-id=none",
                 "-I" + under.ROOT, "-lm"):
        tap.skip("no build id", "no gcc")
        return
    segments, build_id = toolkit.executable_segments(plain)
    offset, vaddr, size = segments[0]
    main = next(symbol for symbol in zip(ElfSymbols(plain).starts, ElfSymbols(plain).functions) if symbol[1][2] == "main")[0]
    mapping = maker.mapping(plain, vaddr & ~4095, vaddr + size, offset & ~4095)
    maker.sample([maker.location(mapping, main + 4)], [1])
    maker.head(9, time.time_ns())
    maker.head(12, 1)
    maker.head(11, toolkit.field(1, maker.text("space")) + toolkit.field(2, maker.text("bytes")))
    maker.write(raw)
    toolkit.symbolize(raw, done)
    tap.ok(build_id == "" and toolkit.names(done) == {"main"}, "without a build id, a file older than the profile is believed", toolkit.names(done))
    os.utime(plain, (time.time() + 1000, time.time() + 1000))
    toolkit.symbolize(raw, done)
    tap.equal(toolkit.names(done), set(), "without a build id, a file newer than the profile is not believed")


def no_files(directory):
    path = os.path.join(directory, "nofiles.pb.gz")
    maker = toolkit.Maker()
    maker.mapping("/nonexistent/program", 0x1000, 0x2000, 0, "00112233")
    vdso = maker.mapping("[vdso]", 0x7000, 0x9000, 0, "0123456789")
    places = [maker.location(1, 0x1100), maker.location(vdso, 0x7100), maker.location(0, 0x5000), maker.location(0, 0)]
    maker.sample(places, [100])
    maker.write(path)
    result = toolkit.cprof("symbolize", path)
    frames = [[frame.name for frame in frames] for _, _, frames in toolkit.located(path)]
    tap.equal(frames, [[], ["[vdso]"], ["[jit]"], ["[unknown]"]], "addresses without a file are called what they are")
    tap.equal(result.returncode, 0, "that is no error")
    result = toolkit.cprof("top", path)
    shown = [line.split()[5] for line in result.stdout.splitlines()[-4:]]
    tap.equal(sorted(shown), ["[jit]", "[program]", "[unknown]", "[vdso]"], "and so they are shown")


def vdso(directory):
    """The vdso of this process is that of others as well."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        line = next((line for line in maps if "[vdso]" in line), None)
    if not line:
        tap.skip("names in the vdso", "there is none")
        return
    start, limit = (int(number, 16) for number in line.split()[0].split("-"))
    image, path = os.path.join(directory, "vdso.so"), os.path.join(directory, "vdso.pb.gz")
    with open("/proc/self/mem", "rb") as memory:
        memory.seek(start)
        write(image, memory.read(limit - start))
    symbols, (_, build_id) = ElfSymbols(image), toolkit.executable_segments(image)
    wanted = [(address, name) for address, (_, size, name) in zip(symbols.starts, symbols.functions) if size > 4]
    maker = toolkit.Maker()
    maker.mapping("/nonexistent/program", 0x1000, 0x2000)
    mapping = maker.mapping("[vdso]", start, limit, 0, build_id)
    maker.sample([maker.location(mapping, start + address + 4) for address, _ in wanted], [1])
    maker.write(path)
    toolkit.cprof("symbolize", "--quiet", path)
    tap.equal([frames[0].name for _, _, frames in toolkit.located(path)], [name for _, name in wanted], "names in the vdso")


def enormous_names(directory):
    path = os.path.join(directory, "enormous.pb.gz")
    long_one = "_Z" + "N" + "9namespace" * 2000 + "1fEv"
    # Each argument is a pair of the one before it twice: 2^n when written out.
    exploding = "_Z1fI" + "4pairI1a1aE" + "".join(f"4pairIS{i}_S{i}_E" for i in range(9)) + "".join(
        f"4pairIS{chr(ord('A') + i)}_S{chr(ord('A') + i)}_E" for i in range(20)) + "EvT_"
    fine = "_ZN3foo3barIiEEvi"
    maker = toolkit.Maker()
    for name in (long_one, exploding, fine, "", "_Z", "_R", "_ZN", "plain"):
        function = maker.function(name or "empty", name)
        maker.sample([maker.location(0, 0x1000 + function, [(function, 1)])], [1])
    maker.write(path)
    began = time.monotonic()
    result = toolkit.cprof("symbolize", path)
    tap.ok(result.returncode == 0 and time.monotonic() - began < 5, "enormous names take no time", result.stderr)
    found = toolkit.names(path)
    tap.ok(long_one in found and all(len(name) <= 20020 for name in found), "and stay as they are")
    tap.ok("foo::bar" in found and "plain" in found, "names of another's profile are made readable", found)


# ---- Options and errors ----


def options(directory):
    raw = os.path.join(directory, "options.pb.gz")
    maker = toolkit.Maker()
    function = maker.function("_ZN3foo3barIiEEvi")
    maker.sample([maker.location(0, 0x1000, [(function, 1)])], [1])
    maker.write(raw)
    for style, name in (("simple", "foo::bar"), ("templates", "foo::bar<int>"), ("full", "void foo::bar<int>(int)"),
                        ("none", "_ZN3foo3barIiEEvi")):
        done = os.path.join(directory, f"{style}.pb.gz")
        toolkit.symbolize(raw, done, "--demangle", style)
        tap.equal(toolkit.names(done), {name}, f"--demangle {style}")
        again = os.path.join(directory, "again.pb.gz")
        toolkit.symbolize(os.path.join(directory, "simple.pb.gz"), again, "--demangle", style)
        tap.equal(toolkit.names(again), {name}, f"--demangle {style}, of a file that has names")
        toolkit.symbolize(done, again)
        tap.equal(toolkit.names(again), {name if style != "none" else "foo::bar"}, f"{style} stays, as long as no style is asked for")
    piped = toolkit.cprof("symbolize", "-", input=toolkit.read(raw), text=False)
    write(done, piped.stdout)
    tap.equal(toolkit.names(done), {"foo::bar"}, "from standard input to standard output")
    link = os.path.join(directory, "link.pb.gz")
    os.symlink("options.pb.gz", link)
    os.chmod(raw, 0o640)
    tap.equal(toolkit.cprof("symbolize", link).returncode, 0, "through a symbolic link")
    tap.ok(os.path.islink(link) and toolkit.names(raw) == {"foo::bar"}, "what the link points to is rewritten")
    tap.equal(stat.S_IMODE(os.stat(raw).st_mode), 0o640, "and keeps its mode")
    tap.equal(toolkit.cprof("symbolize", "--timeout", "20", "--quiet", raw).returncode, 0, "--timeout and --quiet")


def errors(directory):
    good, bad = os.path.join(directory, "good.pb.gz"), os.path.join(directory, "bad.pb.gz")
    toolkit.record([os.path.join(WORKLOADS, "message_batch"), "growing"], good)
    write(bad, b"this is no profile\n")
    before = toolkit.read(good)

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    for title, arguments, code, more in (
        ("no file", [], 2, {}),
        ("two files", [good, good], 2, {}),
        ("an unknown option", ["--nonsense", good], 2, {}),
        ("an unknown style", ["--demangle", "nonsense", good], 2, {}),
        ("no seconds", ["--timeout", "soon", good], 2, {}),
        ("a file that isn't there", ["/nonexistent.pb.gz"], 3, {}),
        ("a file that is no profile", [bad], 3, {}),
        ("a directory that isn't there", ["-o", "/nonexistent/out.pb.gz", good], 4, {}),
        ("a full disk", ["-o", "/dev/full", good], 4, {}),
        ("a limit on file sizes", [good], 4, {"preexec_fn": small_files}),
    ):
        result = toolkit.cprof("symbolize", *arguments, **more)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("Try ")]
        tap.ok(result.returncode == code and len(lines) == 1 and lines[0].startswith("cprof: "),
               f"{title}: exit status {code} and one line", result.returncode, result.stderr)
    tap.equal(toolkit.read(bad), b"this is no profile\n", "what is no profile stays as it is")
    tap.ok(toolkit.read(good) == before, "the input stays as it is after any failure")
    tap.equal([name for name in os.listdir(directory) if name.startswith("good.pb.gz.")], [], "no temporary files are left")


toolkit.run_parts(moved_away, inlined, lambdas, debug_files, gaps, split_debug_info, mini_debug_info, other_builds,
                  no_files, vdso, enormous_names, options, errors)
