"""Flags reach the settings, help is complete and quick to load, and clashes are refused."""

import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

from experiments.evaluate.run_folder import CONFIG, CONFIG_KIND, CONFIG_VERSION
from experiments.policies.config import to_json
from experiments.train.command_line import GNN_PRESETS, OP_COUNT_PRESETS, parse
from hlograph.storage.checked_file import write_checked_json


def _parse(*arguments: str):
    return parse(GNN_PRESETS, "Trains.", arguments)


def _flags(config, prefix: str = "--") -> list[str]:
    found = []
    for f in fields(config):
        name, value = f.name.replace("_", "-"), getattr(config, f.name)
        found += _flags(value, f"{prefix}{name}.") if is_dataclass(value) else [prefix + name]
    return found


def test_flags_override_the_preset():
    assert _parse() == GNN_PRESETS["quick"]
    assert _parse("--preset", "full") == GNN_PRESETS["full"]
    config = _parse(
        "--preset=full", "--seed", "4", "--gat-ppo.clip", "0.1", "--benchmarks", "a/*", "b"
    )
    expected = replace(GNN_PRESETS["full"], seed=4, benchmarks=("a/*", "b"))
    assert config == replace(expected, gat_ppo=replace(expected.gat_ppo, clip=0.1))


@pytest.mark.parametrize("presets", [GNN_PRESETS, OP_COUNT_PRESETS])
def test_help_has_every_setting_with_the_value_of_the_preset(presets, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(presets, "Trains.", ["--preset", "full", "--help"])
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"python -m experiments.{presets['full'].program} " in shown
    for flag in _flags(presets["full"]):
        assert flag in shown
    assert f"(default: {presets['full'].total_steps})" in shown


@pytest.mark.parametrize("program", ["train_gnn", "train", "train rewrites"])
def test_help_loads_neither_torch_nor_the_engine(program):
    program, *process = program.split()
    code = (
        f"import runpy, sys; sys.argv = ['x', *{process}, '--help']\n"
        f"try: runpy.run_module('experiments.{program}', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "slow = {'torch', 'torch_geometric', 'tensorboard', 'hlograph._native', 'gymnasium'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    lists_processes = program == "train" and not process
    expected = "{op-counts,rewrites,fusion,tuning}" if lists_processes else "--total-steps"
    assert expected in done.stdout
    assert done.stderr.strip() == "[]"


@pytest.fixture
def run_folder(tmp_path):
    config = replace(GNN_PRESETS["full"], seed=9, horizon=3, out=tmp_path)
    write_checked_json(tmp_path / CONFIG, CONFIG_KIND, CONFIG_VERSION, {"config": to_json(config)})
    return tmp_path


def test_a_resumed_run_keeps_its_settings_where_no_flag_says_otherwise(run_folder):
    config = _parse("--resume", str(run_folder), "--total-steps", "77")
    assert (config.preset, config.seed, config.horizon) == ("full", 9, 3)
    assert config.total_steps == 77
    assert config.out == run_folder


def test_a_run_is_found_from_its_checkpoint(run_folder):
    checkpoint = run_folder / "gnn" / "checkpoint.pt"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    assert _parse("--resume", str(checkpoint)).out == run_folder


@pytest.mark.parametrize("flags", [["--preset", "quick"], ["--out", "elsewhere"]])
def test_what_a_resumed_run_cannot_change_is_refused(run_folder, flags, capsys):
    with pytest.raises(SystemExit) as ended:
        _parse("--resume", str(run_folder), *flags)
    assert ended.value.code == 2
    assert flags[0] in capsys.readouterr().err


def test_resuming_nothing_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"there is no config\.json"):
        _parse("--resume", str(tmp_path / "nothing"))


def test_a_gnn_run_is_not_resumed_as_an_op_count_run(run_folder):
    with pytest.raises(SystemExit, match="has no setting"):
        parse(OP_COUNT_PRESETS, "Trains.", ["--resume", str(run_folder)])
