"""Searches for tests: what they report does not depend on what is faster on this machine."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from hlograph.optimization import Report
from hlograph.plans import Plan
from tests.hlograph.optimization.proposals import WIDTHS

BROKEN = Plan(steps=("no-such-pass",))


def report(plan):
    return Report("jit_f", plan, f"found {plan.method or plan.digest}", "close")


def found(plans, spent):
    """Reports plans, one after the other."""
    for plan in plans:
        yield report(plan)


def told(values, spent):
    """Reports the sum of values."""
    yield replace(report(Plan()), conclusion=str(values.sum()))


def spending(spent):
    """Reports the seconds that other stages have taken, and takes seven."""
    yield replace(report(Plan()), conclusion=f"{spent} s are over", seconds=7.0)


def dying(spent):
    """Reports a plan, and is killed."""
    yield report(WIDTHS[0])
    os.kill(os.getpid(), signal.SIGKILL)


def waiting(folder, name, spent):
    """Says that it has begun, reports a plan, and waits until it may end."""
    folder = Path(folder)
    (folder / f"{name} begun").write_text(str(os.getpid()))
    yield report(WIDTHS[0])
    while not (folder / f"{name} may end").exists():
        time.sleep(0.01)
    yield report(WIDTHS[1])
