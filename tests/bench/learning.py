# SPDX-License-Identifier: Apache-2.0
"""What one new address costs, by the library's own reading of call frame information and by libunwind's (learn.c)."""
import os
import shutil
import subprocess
import tempfile
from statistics import median

import run

ADDRESSES = 20000


def _ns(program, how):
    out = subprocess.run([program, how, str(ADDRESSES)], stdout=subprocess.PIPE, text=True, check=True,
                         env=run.clean_environment()).stdout
    return float(dict(line.split() for line in out.splitlines())["ns"])


def _calls(program, how):
    """System calls of the whole process, or None without strace."""
    if not shutil.which("strace"):
        return None
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["strace", "-f", "-c", "-o", f.name, program, how, str(ADDRESSES)], stdout=subprocess.DEVNULL,
                       check=True, env=run.clean_environment())
        with open(f.name, encoding="ascii", errors="replace") as table:
            total = [line.split() for line in table if line.rstrip().endswith("total")]
    return int(total[0][3]) if total else None


def measure(build, runs):
    """{how: (ns, system calls or None)} for one address."""
    program = os.path.join(build, "learn")
    rounds = [{how: _ns(program, how) for how in ("nothing", "own", "libunwind")} for _ in range(runs)]
    none = _calls(program, "nothing")
    result = {}
    for how in ("own", "libunwind"):
        calls = _calls(program, how)
        result[how] = (median(r[how] - r["nothing"] for r in rounds),
                       None if calls is None or none is None else (calls - none) / ADDRESSES)
    return result


def table(result):
    lines = ["| a new address, learned by | ns | system calls |", "|---|---|---|"]
    for how, title in (("own", "the library's reader"), ("libunwind", "libunwind's step")):
        ns, calls = result[how]
        lines.append(f"| {title} | {ns:,.0f} | {'strace not found' if calls is None else f'{calls:.1f}'} |")
    return "\n".join(lines)
