"""Choice of the kernels to measure next."""

import numpy as np

from experiments.cost_model.settings import TreesConfig
from experiments.evaluate.run_folder import REFUSED
from experiments.kernel_bank.__main__ import main
from experiments.kernel_bank.choosing import OpcodeErrors, chosen, curve
from experiments.kernel_bank.origins import Origin
from experiments.kernel_bank.settings import ChooseConfig, CurveConfig
from hlograph.corpus.json_lines import save_splits
from hlograph.corpus.plan_times import PlanTimes
from tests.experiments.cost_model.data import KERNELS, plan
from tests.experiments.kernel_bank.data import bank

ORIGINS = [Origin(text, "a", "test" if n % 2 else "train") for n, text in enumerate(KERNELS)]
SMALL = TreesConfig(rounds=4, leaves=4)


def test_kernels_like_those_that_are_predicted_wrong_are_worth_more():
    times = bank(30, 0)

    def guessed(variant):
        return variant.seconds * (4 if "sine(" in times.kernels[variant.kernels[0].number] else 1.1)

    predicted = [np.array([guessed(v) for v in kernel.variants]) for kernel in times.measured]
    wrong = OpcodeErrors(times, predicted)
    sine = next(text for text in KERNELS if " sine(" in text)
    negate = next(text for text in KERNELS if " negate(" in text)
    assert wrong(sine) > 2 * wrong(negate)
    assert wrong(negate) < wrong("%n1 = f32[] unknown(%n0)") < wrong(sine)


def test_only_kernels_for_training_are_chosen(tmp_path):
    config = ChooseConfig(out=tmp_path, kernels=4, trees=SMALL)
    kernels = chosen(bank(20, 0), bank(9, 1, "b"), ORIGINS, config)
    assert len(set(kernels)) == 4
    assert {kernel.split for kernel in kernels} == {"train"}


def test_the_command_lines_choose_and_draw_the_curve(tmp_path, monkeypatch, capsys):
    contents = {
        split: [kernel.to_json() for kernel in bank(*of_split).measured]
        for split, of_split in {
            "train": (16, 0),
            "validation": (6, 1, "b"),
            "test": (6, 2, "c"),
        }.items()
    }
    save_splits(tmp_path / "bank", KERNELS, contents)
    monkeypatch.setattr("experiments.kernel_bank.origins.origins", lambda: ORIGINS)
    small = "--trees.rounds 4 --trees.leaves 4"
    usual = ["--data", str(tmp_path / "bank"), *small.split()]
    out = tmp_path / "chosen.txt"
    assert main(["choose", *usual, "--out", str(out), "--kernels", "2", "--seeds", "0", "1"]) == 0
    first, second = out.read_text().split()
    assert {first, second} < {origin.digest for origin in ORIGINS if origin.split == "train"}
    assert main(["curve", *usual]) == 0
    assert "by choice" in capsys.readouterr().out
    assert main(["curve", *usual, "--isa", "avx2"]) == REFUSED
    assert "found avx512" in capsys.readouterr().err
    for command in (["curve", *usual], ["choose", *usual, "--out", str(out)]):
        assert main([*command, "--seeds", "0"]) == REFUSED
        assert "two or more --seeds" in capsys.readouterr().err
    assert main(["compare", *usual, "--splits"]) == REFUSED
    assert "to compare on" in capsys.readouterr().err


def test_a_curve_has_both_ways_to_take_kernels():
    config = CurveConfig(trees=SMALL)
    text = curve(bank(32, 0), bank(6, 1, "b"), bank(6, 2, "c"), config)
    rows = [[cell.strip() for cell in row.split("|")[1:3]] for row in text.splitlines()[2:]]
    assert rows == [
        *(["2", "at random"], ["4", "by choice"], ["4", "at random"], ["8", "by choice"]),
        *(["8", "at random"], ["16", "by choice"], ["16", "at random"], ["32", "all"]),
    ]


def test_kernels_of_programs_are_chosen(tmp_path, monkeypatch):
    programs = PlanTimes(KERNELS, [plan("p", [0, 3])])
    monkeypatch.setattr("experiments.kernel_bank.origins.origins", lambda: ORIGINS)
    monkeypatch.setattr("hlograph.corpus.plan_times.load", lambda folder: programs)
    out = tmp_path / "chosen.txt"
    assert main(["choose", "--within", str(tmp_path), "--out", str(out)]) == 0
    assert out.read_text().split() == [ORIGINS[number].digest for number in (0, 3)]
