"""The recipes of the package: which decisions that won they are made of."""

import json

import pytest

from experiments.evaluate.best_decisions import BestDecisions
from experiments.tune import recipes
from hlograph.optimization.methods.recipes import FILE

WIDE = "flags xla_cpu_prefer_vector_width = 512"


def _won(name, ratio, *decisions):
    return BestDecisions(name, "f" * 32, decisions, ratio, ratio, ratio, "", 9, "0.10.2", "A CPU")


def test_what_gains_most_comes_first():
    won = [
        _won("a/a", 2.0, "rule x", WIDE),
        _won("a/b", 4.0, WIDE, "kernel 123 = one-kernel"),
        _won("a/c", 8.0, "rule y"),
        _won("a/d", 1.0),
    ]
    ranked = list(recipes.ranked(won))
    assert [(each["rules"], each["flags"], each["programs"]) for each in ranked] == [
        (["y"], {}, 1),
        ([], {"xla_cpu_prefer_vector_width": 512}, 2),  # half of both plans
    ]
    assert [each["gain"] for each in ranked] == pytest.approx([2.08, 1.04])


def test_the_file_is_made_of_the_recorded_decisions(tmp_path, capsys):
    file = tmp_path / "recipes.json"
    assert recipes.main(["--file", str(file)]) == 0
    assert file.read_bytes() == FILE.read_bytes()
    assert f"{len(json.loads(FILE.read_text()))} recipes" in capsys.readouterr().out
