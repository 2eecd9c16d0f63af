"""A study of two benchmarks whose measures can be worked out by hand."""

from typing import Any

from experiments.evaluate.benchmarks import Reference
from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.study import Study, Trial

GROUP = "gpt2-train test-unseen"
REFERENCES = {
    "a/b/c": Reference(
        100,
        {"xla-cpu": 80, "xla-simplify": 50, "xla-cpu-unexpanded": 70},
        {"xla-cpu": 100, "xla-simplify": 50},
        {"xla-cpu": 0.2, "xla-simplify": 0.1},
    ),
    "d/e/f": Reference(
        200,
        {"xla-cpu": 150, "xla-simplify": 160},
        {"xla-cpu": 60, "xla-simplify": 20},
        {"xla-cpu": 0.4, "xla-simplify": 0.2},
    ),
}
_GOOD = Check(None, "equal")


def outcome(benchmark: str, op_count: int, calls: int = 5) -> Outcome:
    """Returns an outcome of two passes."""
    return Outcome(benchmark, REFERENCES[benchmark].start, op_count, ("dce", "cse"), calls)


def known_study(name: str = "figure2", **changes: Any) -> Study:
    """Returns two seeds of one method, and one of another whose second result fails."""
    trials = [
        Trial(
            "GNN",
            0,
            GROUP,
            [outcome("a/b/c", 40), outcome("d/e/f", 100)],
            [_GOOD, Check(None, "close")],
            [0.01, 0.03],
            training=[(64, {"xla-cpu": 0.9}), (128, {"xla-cpu": 1.1})],
        ),
        Trial("GNN", 1, GROUP, [outcome("a/b/c", 80), outcome("d/e/f", 120)]),
        Trial(
            "op counts",
            0,
            GROUP,
            [outcome("a/b/c", 60), outcome("d/e/f", 100)],
            [_GOOD, Check("outputs differ", "different")],
        ),
    ]
    made = {"command": "python -m experiments.paper figure2", "commit": "abc", "cpus": 2}
    content = {
        "preset": "quick",
        "settings": {},
        "references": REFERENCES,
        "trials": trials,
        "best_known": {"a/b/c": 40},
        "made": made,
    }
    return Study(name, **content | changes)
