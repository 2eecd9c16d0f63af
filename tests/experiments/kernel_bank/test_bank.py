"""A small bank, from the command line to the table of baselines."""

import json

import pytest

from experiments.evaluate.run_folder import REFUSED
from experiments.kernel_bank import collecting
from experiments.kernel_bank.__main__ import main
from experiments.kernel_bank.collecting import recordings
from experiments.kernel_bank.origins import Origin, digest_of, unconfigured
from hlograph.corpus import kernel_times
from tests.experiments.cost_model.data import kernel
from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]

TEXTS = [kernel("tanh", 3000), kernel("sine", 2000), kernel("negate", 4000)]
ORIGINS = [Origin(TEXTS[0], "a", "train"), *(Origin(text, "b", "test") for text in TEXTS[1:])]


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """Records three kernels in two portions, the first of which was killed while it wrote."""
    folder = tmp_path_factory.mktemp("bank")
    arguments = ["record", "--out", str(folder), "--draws", "1", "--decisions", "6"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collecting, "origins", lambda seed: ORIGINS)
        patch.setattr(collecting, "held_out_texts", lambda: frozenset())
        assert main([*arguments, "--kernels", "1", "--num-workers", "1"]) == 0
        first = list(recordings(folder))
        with (folder / "recordings.jsonl").open("a") as file:
            file.write('{"origin": "cut o')
        assert main([*arguments, "--minutes", "5"]) == 0
        before = (folder / "recordings.jsonl").read_bytes()
        assert main(arguments) == 0
    return folder, first, before


def test_each_kernel_is_recorded_once(bank):
    folder, first, before = bank
    found = list(recordings(folder))
    assert found[: len(first)] == first
    assert sorted(each["origin"] for each in found) == sorted(map(digest_of, TEXTS))
    assert (folder / "recordings.jsonl").read_bytes() == before  # nothing was left to record
    for each in found:
        default, *others = each["variants"]
        assert default["decisions"] == {}
        assert others
        assert all(other["decisions"] for other in others)
        assert all(seconds > 0 for v in each["variants"] for seconds in (*v["warm"], *v["cold"]))
        assert each["isa"]


def test_recordings_become_a_data_set_and_a_table(bank, tmp_path, capsys):
    folder, _, _ = bank
    out = tmp_path / "packed"
    assert main(["pack", "--folders", str(folder), "--out", str(out)]) == 0
    assert "3 kernels" in capsys.readouterr().out
    times = kernel_times.load(folder=out)
    by_split = {s: kernel_times.load(s, folder=out).measured for s in kernel_times.SPLITS}
    assert [len(by_split[split]) for split in kernel_times.SPLITS] == [1, 0, 2]
    assert {k.family for k in by_split["test"]} == {"b"}
    for measured in times.measured:
        default = measured.variants[0]
        assert measured.change == {}
        assert any(
            opcode in times.kernels[default.kernels[0].number]
            for opcode in ("tanh(", "sine(", "negate(")
        )
    assert str(tmp_path.parent) not in (out / "README.md").read_text()
    made = json.loads((out / "made.json").read_text())
    assert made[0]["settings"]["draws"] == "1"
    arguments = ["--data", str(out), "--splits", "train", "test", "--seeds"]
    assert main(["compare", *arguments]) == 0
    head, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert "top-10 slowdown" in head
    assert [row.split("|")[1].strip() for row in rows] == [
        *("no model", "number of instructions", "roofline of XLA's cost analysis"),
        *("rates of work", "gradient-boosted trees", "gradient-boosted trees, decisions alone"),
        *("mean of each word, decisions alone", "half of the measurements by the other half"),
    ]


def test_kernels_of_held_out_programs_are_left_out(bank, tmp_path, monkeypatch):
    chosen = tmp_path / "chosen.txt"
    chosen.write_text(f"{ORIGINS[1].digest}\n")
    monkeypatch.setattr(collecting, "origins", lambda seed: ORIGINS)
    default, *_ = next(r for r in recordings(bank[0]) if r["origin"] == digest_of(TEXTS[1]))[
        "variants"
    ]
    held_out = frozenset(unconfigured(text) for text, *_ in default["kernels"])
    monkeypatch.setattr(collecting, "held_out_texts", lambda: held_out)
    arguments = ["record", "--out", str(tmp_path), "--draws", "1", "--decisions", "0"]
    assert main([*arguments, "--chosen", str(chosen)]) == 0
    (only,) = recordings(tmp_path)
    assert (only["origin"], only["left_out"]) == (ORIGINS[1].digest, "held out")


def test_an_unknown_kernel_is_not_chosen(tmp_path, monkeypatch, capsys):
    chosen = tmp_path / "chosen.txt"
    chosen.write_text("0123456789abcdef\n")
    monkeypatch.setattr(collecting, "origins", lambda seed: ORIGINS)
    assert main(["record", "--out", str(tmp_path / "bank"), "--chosen", str(chosen)]) != 0
    assert "0123456789abcdef" in capsys.readouterr().err


def test_nothing_is_packed_of_nothing(tmp_path, capsys):
    (tmp_path / "made.json").write_text('{"command": "record"}')
    arguments = ["pack", "--folders", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(arguments) == REFUSED
    assert "found none" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_kernels_of_two_instruction_sets_are_compared_in_the_datasheet(bank, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "made.json").write_text((bank[0] / "made.json").read_text())
    sets = {"avx2": 3.0, "avx512": 1.0}
    lines = [
        recording
        | {"isa": isa, "machine": isa}
        | {
            "variants": [
                v | {"warm": [factor * s for s in v["warm"]]} for v in recording["variants"]
            ]
        }
        for isa, factor in sets.items()
        for recording in recordings(bank[0])
    ]
    (folder / "recordings.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["pack", "--folders", str(folder), "--out", str(tmp_path / "out")]) == 0
    sheet = (tmp_path / "out" / "README.md").read_text()
    assert "3 kernels were timed with AVX2" in sheet
    assert "they take 3.00 times as long (the middle 90 %: 3.00 to 3.00)" in sheet


def test_kernels_that_became_held_out_ones_are_not_packed(bank, tmp_path):
    (recording, *_) = [r for r in recordings(bank[0]) if r["split"] == "test"]
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "made.json").write_text((bank[0] / "made.json").read_text())
    (other,) = [r for r in recordings(bank[0]) if r["split"] == "train"]
    (default, *_), (own, *more) = recording["variants"], other["variants"]
    lines = [
        recording,
        recording | {"split": "train", "draw": 1},
        other | {"variants": [own, default, *more]},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "recordings.jsonl").write_text(text)
    assert main(["pack", "--folders", str(folder), "--out", str(tmp_path / "out")]) == 0
    times = kernel_times.load("train", folder=tmp_path / "out")
    (kernel,) = times.measured
    assert [v.decisions for v in kernel.variants] == [v["decisions"] for v in (own, *more)]
    made = {
        k.number
        for each in kernel_times.load(folder=tmp_path / "out").measured
        for v in each.variants
        for k in v.kernels
    }
    assert made == set(range(len(times.kernels)))
    assert str(bank[0]) not in (tmp_path / "out" / "made.json").read_text()
    assert len(kernel_times.load("test", folder=tmp_path / "out").measured) == 1
