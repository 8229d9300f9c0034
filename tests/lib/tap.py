# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a test as TAP, for prove(1).

    import tap
    tap.ok(got == wanted, "what holds", f"got {got}")      the rest is printed only when it doesn't hold
    tap.equal(got, wanted, "what is the same")
    tap.skip("what was not looked at", "why")
    tap.done()                                             prints the plan; the exit status is 1 when something failed
"""
import signal
import sys

# Whoever runs the tests in the background may have made them ignore these, and so what they start; tests of how programs die
# want them as a terminal has them.
for _ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_ignored) == signal.SIG_IGN:
        signal.signal(_ignored, signal.SIG_DFL)

_count = 0
_failed = 0


def diagnose(*lines):
    """Prints comments that prove shows."""
    for line in lines:
        for part in str(line).splitlines():
            print(f"# {part}", file=sys.stderr)


def ok(condition, name, *diagnostics):
    global _count, _failed
    _count += 1
    print(f"{'ok' if condition else 'not ok'} {_count} - {name}", flush=True)
    if not condition:
        _failed += 1
        diagnose(f"failed: {name}", *diagnostics)
    return bool(condition)


def equal(got, wanted, name):
    return ok(got == wanted, name, f"got:    {got}", f"wanted: {wanted}")


def skip(name, reason):
    global _count
    _count += 1
    print(f"ok {_count} - {name} # SKIP {reason}", flush=True)


def skip_all(reason):
    """For a test that can't run at all; before any other result."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def done():
    print(f"1..{_count}")
    sys.exit(1 if _failed else 0)
