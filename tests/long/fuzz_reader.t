#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libFuzzer on tests/fuzz/reader.c, from the corpus on, for FUZZ_SECONDS (60). What it finds is left in build/fuzz."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "build", "fuzz")
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))

if not shutil.which("clang"):
    tap.skip_all("clang is not installed")
SMALLEST = "int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return 0; }\n"
probe = subprocess.run(["clang", "-fsanitize=fuzzer", "-x", "c", "-o", "/dev/null", "-"], capture_output=True,
                       text=True, check=False, input=SMALLEST)
if probe.returncode:
    tap.skip_all("clang has no libFuzzer here")
build = subprocess.run(["make", "-s", "-C", ROOT, "fuzz"], capture_output=True, text=True, check=False)
if not tap.ok(build.returncode == 0, "it is built", build.stderr):
    tap.done()
found = os.path.join(PLACE, "corpus")
os.makedirs(found, exist_ok=True)
run = subprocess.run([os.path.join(PLACE, "reader"), f"-max_total_time={SECONDS}", "-timeout=20", "-rss_limit_mb=3000",
                      "-max_len=20000", "-print_final_stats=1", f"-artifact_prefix={PLACE}/", found,
                      os.path.join(ROOT, "tests", "fuzz", "corpus")],
                     capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS + 240)
tap.ok(run.returncode == 0, f"{SECONDS} seconds without a find", run.stderr[-6000:])
count = re.search(r"stat::number_of_executed_units: *(\d+)", run.stderr)
tap.ok(count and int(count[1]) > 1000, "and it has tried a lot", run.stderr[-500:])
tap.diagnose(f"{count[1] if count else 0} inputs")
tap.done()
