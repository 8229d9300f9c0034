# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: profiles of programs, profiles made up, and the tools to compare with."""
import collections
import gzip
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

PF_X, PT_LOAD = 1, 1

# What a mapping says of itself when all was found.
FLAGS = {"functions", "filenames", "line_numbers", "inline_frames"}


def cprof(*arguments, **options):
    """Runs the command; its environment is clean of settings and of debuginfod."""
    options = {"capture_output": True, "text": True, "timeout": under.TIMEOUT, "check": False, **options}
    options.setdefault("env", under.environment(preload=None, extra={"DEBUGINFOD_URLS": ""}))
    return subprocess.run([under.CPROF, *arguments], **options)


def record(command, path, **options):
    """Runs a program with everything recorded; its profile, without names, is at `path` then."""
    return under.run(command, {"RATE": "1", "OUT": path}, stdin=subprocess.DEVNULL, **options)


def symbolize(source, target, *options):
    return cprof("symbolize", *options, "-o", target, source)


def pprof_tool():
    """[go, tool, pprof] by its full path, or None."""
    go = shutil.which("go")
    if not go or subprocess.run([go, "tool", "-n", "pprof"], capture_output=True, check=False).returncode:
        return None
    return [go, "tool", "pprof"]


def contents(path):
    """A profile file without its gzip."""
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def read(path):
    with open(path, "rb") as file:
        return file.read()


def build(compiler, source, target, *flags, env=None):
    """True if there is such a compiler; a failure of it is the test's."""
    if not shutil.which(compiler):
        return False
    if "++" in compiler:
        flags += ("-fno-optimize-sibling-calls", "-fno-builtin")
    result = subprocess.run([compiler, *flags, "-o", target, source], capture_output=True, text=True, check=False,
                            env=env)
    if result.returncode:
        tap.diagnose(f"{compiler} {' '.join(flags)}: {result.stderr}")
    return result.returncode == 0


def names(path):
    return {frame.name for _, _, frames in located(path) for frame in frames}


def flags_of(profile, path):
    return next(mapping.flags for mapping in pprof.load(profile, symbolize=False).mappings if mapping.path == path)


def run_parts(*parts):
    """Calls each with an empty directory of its own, and ends the test."""
    with tempfile.TemporaryDirectory() as directory:
        for part in parts:
            own = os.path.join(directory, part.__name__)
            os.mkdir(own)
            part(own)
    tap.done()


# ---- Profiles made up ----


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field of a message: an integer, or bytes."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


class Maker:
    """Makes a profile field by field. Locations, functions and mappings get their ids in the order they are added."""

    def __init__(self, types=(("alloc_space", "bytes"),)):
        self._texts = {"": 0}
        self._body = []
        self._counts = collections.Counter()
        for name, unit in types:
            self._body.append(field(1, field(1, self.text(name)) + field(2, self.text(unit))))

    def count(self, number, more):
        """Leaves out so many ids of a table."""
        self._counts[number] += more

    def text(self, text):
        return self._texts.setdefault(text, len(self._texts))

    def _add(self, number, body):
        self._counts[number] += 1
        self._body.append(field(number, field(1, self._counts[number]) + body))
        return self._counts[number]

    def mapping(self, path, start, limit, offset=0, build_id=""):
        return self._add(3, field(2, start) + field(3, limit) + field(4, offset) + field(5, self.text(path)) +
                         field(6, self.text(build_id)))

    def function(self, name, system_name=None, filename=""):
        return self._add(5, field(2, self.text(name)) + field(3, self.text(name if system_name is None else system_name)) +
                         field(4, self.text(filename)))

    def location(self, mapping=0, address=0, lines=()):
        """`lines`: (function, line number), the innermost first."""
        body = field(2, mapping) + field(3, address)
        return self._add(4, body + b"".join(field(4, field(1, function) + field(2, line)) for function, line in lines))

    def sample(self, locations, values, labels=()):
        """`labels`: (key, text or number)."""
        marks = b"".join(field(3, field(1, self.text(key)) + (field(2, self.text(value)) if isinstance(value, str) else field(3, value)))
                         for key, value in labels)
        self._body.append(field(2, field(1, b"".join(map(_varint, locations))) + field(2, b"".join(map(_varint, values))) + marks))

    def head(self, number, value):
        self._body.append(field(number, self.text(value) if isinstance(value, str) else value))

    def write(self, path):
        texts = sorted(self._texts, key=self._texts.get)
        with gzip.open(path, "wb", 1) as file:
            file.write(b"".join(self._body) + b"".join(field(6, text.encode()) for text in texts))


# ---- What other tools say of an address ----


def executable_segments(path):
    """[(file offset, ELF address, bytes)] of the segments that hold code, and the build id in hexadecimal or ""."""
    with open(path, "rb") as file:
        data = file.read()
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    segments, build_id = [], ""
    for i in range(count):
        kind, flags, offset, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if kind == PT_LOAD and flags & PF_X:
            segments.append((offset, vaddr, filesz))
        note = offset
        while kind == 4 and note < offset + filesz:
            name_size, desc_size, note_type = struct.unpack_from("<III", data, note)
            desc = note + 12 + (name_size + 3 & ~3)
            if note_type == 3 and data[note + 12 : note + 16] == b"GNU\0":
                build_id = data[desc : desc + desc_size].hex()
            note = desc + (desc_size + 3 & ~3)
    return segments, build_id


def to_vaddr(segments, offset):
    for start, vaddr, size in segments:
        if start <= offset < start + size:
            return offset - start + vaddr
    return None


def _spoken(command, addresses, is_head):
    """Lines of output, one list for each address."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=under.TIMEOUT)
    blocks = []
    for line in result.stdout.splitlines():
        if is_head(line):
            blocks.append([])
        elif line and blocks:
            blocks[-1].append(line)
    return blocks


def _is_address(line):
    return line.startswith("0x") and " " not in line and ":" not in line


def _place(text):
    """("file.c", 12) of "/dir/file.c:12", also where a column or a discriminator follows."""
    parts = text.split(" (")[0].split(":")
    line = parts[1] if len(parts) > 1 else "0"
    return os.path.basename(parts[0]), int(line) if line.isdigit() else 0


def oracles(path, addresses):
    """{tool: [frames of each address]}; a frame is (name, (file, line)), the innermost first; no frames: no name."""
    commands = {
        "eu-addr2line": ["eu-addr2line", "-a", "-i", "-f", "-e", path],
        "addr2line": ["addr2line", "-a", "-i", "-f", "-e", path],
        "llvm-symbolizer": ["llvm-symbolizer", "--obj=" + path, "--addresses", "--no-demangle", "--inlines"],
    }
    found = {}
    for tool, command in commands.items():
        if not shutil.which(tool):
            continue
        answers = []
        for lines in _spoken(command, addresses, _is_address):
            frames = [(lines[i].split(" inlined at ")[0], _place(lines[i + 1])) for i in range(0, len(lines) - 1, 2)]
            answers.append([] if not frames or frames[-1][0] == "??" else frames)
        if len(answers) == len(addresses):
            found[tool] = answers
    return found


# ---- What a profile says ----

Named = collections.namedtuple("Named", "name system_name file line")


def located(path):
    """[(Mapping or None, address, [Named])] of a profile's locations, as the file has them."""
    profile = pprof.load(path, symbolize=False)
    message = pprof._message(contents(path))
    texts = [text.decode("utf-8") for text in message[6]]

    def text(fields, number):
        return texts[fields[number][-1]] if fields[number] else ""

    functions = {}
    for data in message[5]:
        fields = pprof._message(data)
        functions[fields[1][-1]] = (text(fields, 2), text(fields, 3), text(fields, 4))
    result = []
    for data in message[4]:
        fields = pprof._message(data)
        location = profile.locations[fields[1][-1]]
        lines = [pprof._message(line) for line in fields[4]]
        result.append((location.mapping and location.mapping._replace(flags=frozenset(location.mapping.flags)), location.address,
                       [Named(*functions[line[1][-1]], line[2][-1] if line[2] else 0) for line in lines]))
    return result
