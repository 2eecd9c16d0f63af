"""hlograph optimize, apply and profile, with the shortest of budgets."""

import gc
import json
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hlograph import Module, Plan
from hlograph.execution.interrupts import handled_interrupts, noted_interrupts
from hlograph.execution.measured import Measured
from hlograph.measuring.trial import Job
from hlograph.optimization import Report
from hlograph.optimization.cache import CacheKey, Store
from hlograph.plans import Program
from tests.tiny_module import TINY

BUDGET = ("--budget", "0.1", "--methods", "passes", "--store", "store")
REPORTED = {"program", "conclusion", "numerics", "ratio", "plan", "outcomes", "file"}
SPEED = Measured(2e-6, 1e-6, 2.0, 1.9, 2.1, 1.0, 30)


@pytest.fixture
def plan(user_folder: Path) -> Plan:
    module = Module.from_text(TINY)
    made = Plan("tiny", module.fingerprint(), steps=("call-inliner", "cse"), numerics="close")
    made.save(user_folder / "tiny.plan.json")
    return made


def test_optimize_a_function_then_take_it_from_the_store(call, user_folder):
    words = ("own_functions:step", "--arguments", "own_functions:arguments")
    status, out, _ = call("optimize", *words, *BUDGET)
    assert status == 0
    assert out.endswith("written to step.plan.json\n")
    plan = Plan.load(user_folder / "step.plan.json")
    assert plan.program == "jit_step"
    assert list((user_folder / "store").iterdir())
    content = json.loads(call("optimize", *words, *BUDGET, "--json")[1])
    assert content.keys() >= REPORTED
    assert content["from_store"]
    assert content["plan"]["fingerprint"] == plan.fingerprint


def test_optimize_a_folder(call, plan, user_folder):
    """The store has the plan already, and one file is no HLO."""
    job = Job(Program.of(user_folder / "tiny.hlo"))
    Store("store").put(CacheKey.of(job), plan.measured_at(SPEED))
    (user_folder / "dump").mkdir()
    (user_folder / "dump" / "tiny.hlo").write_text(TINY)
    (user_folder / "dump" / "broken.hlo").write_text("HloModule broken {")
    status, out, err = call("optimize", "dump/", *BUDGET, "--json")
    assert status == 0
    assert "warning: left out: 'dump/broken.hlo' is cut off" in err
    (program,) = json.loads(out)["programs"]
    assert program["name"] == "tiny"
    assert program["file"] == "dump.plans/tiny.plan.json"
    assert Plan.load(program["file"]).fingerprint == Module.from_text(TINY).fingerprint()
    _, out, _ = call("optimize", "dump/", *BUDGET)
    assert out.splitlines()[0].split()[:3] == ["program", "default", "plan"]
    assert out.splitlines()[1].split()[:7] == ["tiny", "2.00", "µs", "1.00", "µs", "2.000", "1.900"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tiny.hlo", "--budget", "0"), "above 0"),
        (("tiny.hlo", "--methods", "no-such"), "no method is called 'no-such'"),
        (("own_functions:callback", "--shapes", "f32[2]"), "without callbacks"),
        (("nowhere/",), "nowhere"),
    ],
)
def test_optimize_refuses(call, words, told):
    status, out, err = call("optimize", *words)
    assert (status, out) == (1, "")
    assert told in err.splitlines()[-1]


def test_apply(call, plan, user_folder):
    status, out, _ = call("apply", "tiny.plan.json", "tiny.hlo", "--out", "tiny.mlir")
    assert status == 0
    assert "step call-inliner" in out
    assert "outputs  equal" in out
    assert Module.load(user_folder / "tiny.mlir").op_count < 8
    status, out, _ = call("apply", "tiny.plan.json", "tiny.hlo", "--out", "t.hlo", "--json")
    content = json.loads(out)
    assert (content["checks"]["accepted"], content["holds"], content["out"]) == (
        True,
        None,
        "t.hlo",
    )
    assert (user_folder / "t.hlo").read_text().startswith("HloModule")


def test_apply_refuses_with_the_reason(call, plan, user_folder):
    here = plan.measured_at(SPEED).machine
    assert here is not None
    elsewhere = replace(plan, measured=SPEED, machine=replace(here, cores=1000))
    elsewhere.save(user_folder / "elsewhere.json")
    status, out, err = call("apply", "elsewhere.json", "tiny.hlo")
    assert (status, out) == (1, "")
    assert "measured elsewhere: cores 1000 there" in err
    assert "--measure" in err
    replace(plan, fingerprint="0" * 32).save(user_folder / "other.json")
    assert "this plan is for a program with" in call("apply", "other.json", "tiny.hlo")[2]
    replace(plan, steps=("no-such-pass",)).save(user_folder / "wrong.json")
    status, _, err = call("apply", "wrong.json", "tiny.hlo")
    assert status == 1
    assert "is called 'no-such-pass'" in err
    assert call("apply", "tiny.plan.json", "tiny.hlo", "--out", "tiny.svg")[0] == 1


def test_profile(call, plan):
    status, out, _ = call("profile", "tiny.hlo", "--plan", "tiny.plan.json", "--limit", "2")
    assert status == 0
    assert "share" in out
    content = json.loads(call("profile", "tiny.hlo", "--json")[1])
    total = sum(kernel["seconds"] for kernel in content["kernels"])
    assert total == pytest.approx(content["seconds"])


def test_an_interrupted_search_keeps_the_file_unless_it_found_a_plan(call, plan, monkeypatch):
    def interrupted(job: Job, settings: object) -> Report:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return Report(job.program.name, found, "ended by the user", job.numerics)

    monkeypatch.setattr("hlograph.optimization.optimize_program", interrupted)
    before = Path("tiny.plan.json").read_text()
    found = Plan("tiny")
    status, out, _ = call("optimize", "tiny.hlo")
    assert status == 130
    assert out.splitlines()[-1] == "  nothing was found, tiny.plan.json is not written"
    assert Path("tiny.plan.json").read_text() == before
    found = replace(plan, method="found")
    status, out, _ = call("optimize", "tiny.hlo", "--json")
    assert (status, json.loads(out)["file"]) == (130, "tiny.plan.json")
    assert Plan.load("tiny.plan.json").method == "found"


@pytest.fixture
def interruptible():
    """Interrupts raise KeyboardInterrupt, also where a shell runs the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupts_are_noted_and_raised(capsys):
    with noted_interrupts() as noted:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert noted == [signal.SIGINT]
    assert "Ctrl-C once more" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_would_be_dropped_comes_again():
    def callback(phase, info):
        """Stands for one that the collector calls, and whose exceptions it drops."""
        signal.raise_signal(signal.SIGINT)

    gc.disable()  # the collector may come at any time
    gc.callbacks.append(callback)
    try:
        with handled_interrupts():
            callback("start", {})  # raises nothing
            with pytest.raises(KeyboardInterrupt):
                time.sleep(10)
    finally:
        gc.callbacks.remove(callback)
        gc.enable()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
