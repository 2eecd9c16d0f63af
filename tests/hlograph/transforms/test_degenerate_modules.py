"""Tests that no pass, pipeline or rewrite ends the process on degenerate modules."""

import pytest

from hlograph.isolation import WorkerLimits, WorkerPool
from tests.hlograph.degenerate.modules import modules
from tests.hlograph.transforms.degenerate_sweep import make_sweeper


def _sweep(texts):
    """Returns what became of each text, by name."""
    names = list(texts)
    with WorkerPool(make_sweeper, 2, WorkerLimits(seconds=60)) as pool:
        return {
            names[number]: outcome if isinstance(outcome, str) else f"{outcome}: {outcome.note}"
            for number, outcome in pool.map(texts.values())
        }


@pytest.mark.parametrize("shape", ["scalar", "empty"])
def test_some_modules_of_each_operation(shape):
    texts = dict(modules([shape]))
    names = list(texts)
    kept = [name for at, name in enumerate(names) if name.endswith(" 0") or at % 8 == 0]
    outcomes = _sweep({name: texts[name] for name in kept})
    assert set(outcomes.values()) <= {"verified", "unverified"}, outcomes
    assert sum(outcome == "verified" for outcome in outcomes.values()) > 0.9 * len(outcomes)


@pytest.mark.slow
def test_all_modules():
    outcomes = _sweep({text: text for _, text in modules()})
    lost = {text: o for text, o in outcomes.items() if not o.endswith(("verified", "unparsed"))}
    assert not lost
    assert sum(outcome == "verified" for outcome in outcomes.values()) > 3_000
