#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man page, --help and completion say what there is, all of it, and nothing else."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from toolkit import cprof, under  # noqa: E402
import tap  # noqa: E402

BUILD = os.path.dirname(under.CPROF)
ESCAPES = (("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\(ga", "`"), ("\\&", ""), ("\\e", "\\"))
PAGE = os.path.join(BUILD, "man", "cprof.1")
BASH = os.path.join(BUILD, "completions", "cprof.bash")
ZSH = os.path.join(BUILD, "completions", "_cprof")


def source(*path):
    with open(os.path.join(under.ROOT, *path), encoding="utf-8") as file:
        return file.read()


def plain(roff):
    """What a reader sees of man(7), more or less: without fonts and escapes."""
    text = re.sub(r"\\f[BRIP]|^\.[A-Z]{2} ?", "", roff, flags=re.M)
    for escape, character in ESCAPES:
        text = text.replace(escape, character)
    return text


def commands():
    return re.findall(r"^  (\w+) +\S", cprof("help").stdout.split("Commands:")[1].split("'cprof help")[0], re.M)


def options_of(text):
    """[(names)] of the options that a --help lists."""
    return [re.findall(r"--?[\w-]+", line.group(1)) for line in re.finditer(r"^  ((?:-\w, )?--?[\w-]+)", text, re.M)]


def check_page(page):
    text = plain(page)
    settings = set(re.findall(r'SETTING\("(\w+)"', source("preload", "intercept", "config.c")))
    settings.add("LIB")  # the command's
    tap.ok(len(settings) > 15, "the library's settings are found in its source", settings)
    described = set(re.findall(r"CPROF_(\w+)", text.split("\nSETTINGS\n")[1].split("\nEXIT STATUS\n")[0]))
    tap.equal(sorted(settings - described), [], "every setting is described")
    tap.equal(sorted(described - settings), [], "none is described that there is not")
    codes = dict(re.findall(r"^    EXIT_(\w+) = (\d+)", source("tools", "exits.h"), re.M))
    listed = re.findall(r"^TP\n(\d+)$|^(\d+)\n", text.split("\nEXIT STATUS\n")[1].split("\nFILES\n")[0], re.M)
    listed = {one or other for one, other in listed}
    tap.equal(sorted(codes.values(), key=int), sorted(listed, key=int), "all exit codes are listed")
    version = cprof("--version").stdout.split()[1]
    tap.ok(f'"cprof {version}"' in page, "the page is of this version", page[:300])
    for tool, command in (("mandoc", ["mandoc", "-T", "lint", "-W", "warning", PAGE]),
                          ("groff", ["groff", "-ww", "-man", "-z", PAGE])):
        if not shutil.which(tool):
            tap.skip(f"{tool} has nothing to say", "not installed")
            continue
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        said = [line for line in (result.stdout + result.stderr).splitlines() if "missing date" not in line]
        tap.equal(said, [], f"{tool} has nothing to say of the page")


def check_commands(page):
    text, found = plain(page), commands()
    tap.ok({"check", "flame", "help", "symbolize", "top"} <= set(found), "the list of commands", found)
    completion = source_of(BASH), source_of(ZSH)
    for name in found:
        result = cprof(name, "--help")
        again = cprof("help", name)
        tap.equal((result.returncode, result.stdout, result.stderr), (0, again.stdout, ""), f"{name} --help")
        lines = result.stdout.split("\nExamples:")[0].splitlines()
        wide = [line for line in lines if len(line) > 80 and " " in line.strip()]
        tap.equal(wide, [], f"{name}: help is 80 columns wide")
        names = [one for option in options_of(result.stdout) for one in option]
        tap.equal(sorted(set(names)), sorted(names), f"{name}: no option is there twice")
        section = re.search(rf"^cprof {name} .*?(?=^cprof |^SETTINGS$)", text, re.M | re.S)
        missing = [one for one in names if one not in ("-h", "--help") and not (section and one in section.group())]
        tap.equal(missing, [], f"{name}: the man page has all its options")
        for shell, script in zip(("bash", "zsh"), completion):
            part = re.search(rf"^    {name}\)\n(.*?)^        ;;", script, re.M | re.S)
            missing = [one for one in names if one.startswith("--") and not (part and one in part.group(1))]
            tap.equal(missing, [], f"{name}: {shell} completes all its long options")
        result = cprof(name, "--no-such-option")
        tap.ok(result.returncode in (2, 125) and "--no-such-option: no such option" in result.stderr,
               f"{name}: another option is an error", result)


def source_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def complete(*words):
    """What bash offers for the last of the words."""
    script = (f"source {BASH}; COMP_WORDS=(cprof {' '.join(repr(word) for word in words)}); COMP_CWORD={len(words)}; "
              "_cprof; printf '%s\\n' \"${COMPREPLY[@]}\"")
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=under.ROOT)
    return result.stdout.split() if not result.stderr else [result.stderr]


def check_completion():
    tap.equal(complete("fla"), ["flame"], "bash: a command")
    tap.equal(set(complete("")), {*commands(), "--help", "--version"}, "bash: all commands")
    tap.equal(complete("flame", "--coll"), ["--collapsed"], "bash: an option")
    tap.equal(complete("symbolize", "--demangle", "te"), ["templates"], "bash: a word")
    tap.equal(complete("check", "LICEN"), ["LICENSE"], "bash: a file")
    tap.equal(complete("symbolize", "-o", "LICEN"), ["LICENSE"], "bash: an option's file")
    tap.ok(str(os.getpid()) in complete("dump", str(os.getpid())[:1]), "bash: a process")
    tap.ok("bash" in complete("run", "bas"), "bash: a program")
    if not shutil.which("zsh"):
        tap.skip("zsh takes its completion", "zsh is not installed")
        return
    # compadd and _describe work only while zsh completes, so they are shown what they are called with.
    script = (f"autoload -U compinit; _arguments() {{ printf '%s\\n' \"$@\" }}; fpath=({os.path.dirname(ZSH)} $fpath); "
              "words=(cprof symbolize ''); CURRENT=3; autoload +X _cprof; _cprof")
    result = subprocess.run(["zsh", "-fc", script], capture_output=True, text=True, check=False)
    tap.ok("*--demangle[" in result.stdout and ":(simple templates full none)" in result.stdout and not result.stderr,
           "zsh takes its completion", result)


PAGE_TEXT = source_of(PAGE)
check_page(PAGE_TEXT)
check_commands(PAGE_TEXT)
check_completion()
tap.done()
