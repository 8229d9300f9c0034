# SPDX-License-Identifier: Apache-2.0
"""A browser for tests: Chromium, driven by playwright-core from npm, which is put into build/browser.

    reason = browser.missing()             why there is none, or None
    browser.run(script, ...)               runs tests/long/SCRIPT under node, and reports what it prints
"""
import json
import os
import shutil
import subprocess

import tap
import under

PLACE = os.path.join(under.ROOT, "build", "browser")
MODULES = os.path.join(PLACE, "node_modules")


def missing():
    for program in ("node", "npm", "chromium"):
        if not shutil.which(program):
            return f"{program} is not installed"
    os.makedirs(PLACE, exist_ok=True)
    if not os.path.isdir(os.path.join(MODULES, "playwright-core")):
        result = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-save", "--prefix", PLACE,
                                 "playwright-core@1"], capture_output=True, text=True, timeout=300, check=False)
        if result.returncode:
            return f"playwright-core can't be had: {result.stderr.strip()[:200]!r}"
    return None


def run(script, *arguments):
    """Runs the script with MODULES CHROMIUM PLACE and the arguments, and reports each {name, good, got} it prints."""
    path = os.path.join(under.ROOT, "tests", "long", script)
    result = subprocess.run(["node", path, MODULES, shutil.which("chromium"), PLACE, *arguments], capture_output=True,
                            text=True, timeout=300, check=False)
    for line in result.stdout.splitlines():
        outcome = json.loads(line)
        tap.ok(outcome["good"], outcome["name"], outcome["got"])
    tap.ok(result.returncode == 0, "the browser came to the end", result.stderr[-2000:])
