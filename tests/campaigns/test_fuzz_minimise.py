"""Minimisation of findings."""

import json
import os
import random

import pytest

from hlograph import Module
from hlograph.errors import HloError
from hlograph.isolation import FlightRecorder, InProcessPool, WorkerPool
from tests.campaigns.fuzz_minimise import Minimiser, Prober, Trial, main, shortest

NESTED = """
HloModule nested, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
inner {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  z = f32[4] sine(y), metadata={op_name="culprit"}
  ROOT w = f32[4] add(z, x)
}
other { u = f32[4] parameter(0) ROOT v = f32[4] abs(u) }
ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] exponential(p)
  b = f32[4] call(a), to_apply=inner
  c = f32[4] call(b), to_apply=other
  ROOT d = f32[4] multiply(c, a)
}
"""


@pytest.mark.parametrize("seed", range(20))
def test_shortest_keeps_exactly_what_is_needed(seed):
    rng = random.Random(seed)
    items = list(range(rng.randint(1, 60)))
    needed = set(rng.sample(items, rng.randint(0, min(4, len(items)))))
    trials = []

    def shows(some):
        trials.append(some)
        return needed <= set(some)

    assert shortest(items, shows) == sorted(needed)
    assert len(trials) < 400


def shows_sine(recorder):
    """Returns a worker on which a pass "cse" crashes for modules with a sine."""
    honest = Prober(recorder)

    def work(trial):
        if trial.before_last:
            return honest(trial)
        try:
            Module.from_text(trial.module).verify()
        except HloError:
            return None
        return "crash" if "cse" in trial.passes and " sine(" in trial.module else None

    return work


def test_a_finding_in_a_computation_is_cut_down_to_one_instruction():
    with InProcessPool(shows_sine) as pool:
        minimiser = Minimiser(pool, "crash")
        assert minimiser.passes(NESTED, ["dce", "algsimp", "cse", "dce"]) == ("cse",)
        assert minimiser.passes(NESTED, ["dce", "algsimp"]) == ()
        text = minimiser.text_before_last(NESTED, ["dce", "cse"])
        assert text is not None
        *_, reduced = minimiser.modules(text, ["cse"])
    module = Module.from_text(reduced)
    module.verify()
    assert module.op_count == 3  # parameter, sine, tuple
    assert "metadata" not in reduced


def test_a_prober_sees_no_defect_where_there_is_none():
    prober = Prober(FlightRecorder())
    assert prober(Trial(NESTED, ("call-inliner", "cse", "dce"))) is None
    assert prober(Trial(NESTED.replace("negate(x)", "negate(nobody)"), ("cse",))) is None
    assert "call(" not in prober(Trial(NESTED, ("call-inliner", "cse"), before_last=True))


class Dying(Prober):
    """Ends its process where a pass "cse" meets a sine."""

    def __call__(self, trial):
        if not trial.before_last and trial.passes[-1:] == ("cse",) and " sine(" in trial.module:
            os.abort()
        return super().__call__(trial)


def test_what_ends_the_process_is_cut_down_too():
    text = """HloModule fatal

ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] exponential(p)
  ROOT z = f32[4] sine(a)
}
"""
    with WorkerPool(Dying, 1) as pool:
        *_, reduced = Minimiser(pool, "crash").modules(text, ["cse"])
    assert Module.from_text(reduced).op_count == 3  # parameter, sine, tuple


def test_a_finding_that_does_not_appear_again_is_reported(tmp_path, capsys):
    example = {
        "kind": "crash",
        "benchmark": "stencil/diffusion-x4-y2/forward",
        "passes": ["dce", "cse"],
        "detail": "",
    }
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"findings": [{"count": 1, "examples": [example]}]}))
    assert main(report) == 0
    assert "not again" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.hlo"))
