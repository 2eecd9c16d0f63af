"""Runs and checkpoints are read from URLs; they go on in a folder."""

import shutil

import fsspec
import pytest

from experiments.evaluate.run_folder import RunFolderError, copy_run
from experiments.policies.checkpoint import load_policy
from experiments.train.command_line import GNN_PRESETS, parse
from experiments.train.program import REFUSED, train
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from tests.experiments.tiny_run import checkpoints, results, same_policies, tiny_config


@pytest.fixture(scope="module")
def url(finished):
    """A finished run, in a file system of this process."""
    filesystem = fsspec.filesystem("memory")
    filesystem.put(str(finished), "/bucket/run", recursive=True)
    yield "memory://bucket/run"
    filesystem.rm("/bucket", recursive=True)


def _resumed(url, *flags):
    return parse(GNN_PRESETS, "", ["--resume", url, *flags])


def test_a_run_goes_on_elsewhere(finished, url, tmp_path):
    short = tmp_path / "short"
    assert train(tiny_config(total_steps=24, out=short, workers="in-process")) == 0
    filesystem = fsspec.filesystem("memory")
    filesystem.put(str(short), "/bucket/short", recursive=True)
    # No trace of the first folder.
    shutil.rmtree(short)
    folder = tmp_path / "run"
    config = _resumed("memory://bucket/short", "--out", str(folder), "--total-steps", "48")
    assert config.out == folder
    assert train(config) == 0
    assert {c.iteration for c in checkpoints(folder).values()} == {2}
    starts = read_checked_json(folder / "config.json", "run settings", 2)["starts"]
    assert len(starts) == 2
    again = _resumed(str(folder))
    assert again.out == folder
    assert again.total_steps == 48


def test_all_of_a_finished_run_is_copied(finished, url, tmp_path):
    copy_run(url, tmp_path)
    assert same_policies(finished, tmp_path)
    assert results(finished) == results(tmp_path)
    ours = {path.relative_to(finished) for path in finished.rglob("*") if path.is_file()}
    copied = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.as_posix() for path in ours - copied} <= {".lock"}


def test_a_run_in_the_folder_is_not_written_over(finished, url, capsys):
    config = _resumed(url, "--out", str(finished))
    assert train(config) == REFUSED
    assert f"there is a run in {finished}" in capsys.readouterr().err


def test_a_folder_is_asked_for(url, capsys):
    with pytest.raises(SystemExit):
        _resumed(url)
    assert "--out: name the folder" in capsys.readouterr().err


def test_no_run_at_the_url(tmp_path):
    with pytest.raises(SystemExit, match=r"no config\.json in memory://bucket/nothing$"):
        _resumed("memory://bucket/nothing")
    with pytest.raises(SystemExit, match=r"cannot read what://x/config\.json: ValueError"):
        _resumed("what://x")
    with pytest.raises(RunFolderError, match="the run at memory://bucket/nothing cannot be copied"):
        copy_run("memory://bucket/nothing", tmp_path)


def test_a_policy_at_a_url(url, tmp_path):
    kind, _ = load_policy(f"{url}/op_counts/checkpoint.pt")
    assert kind.name == "op_counts"
    with pytest.raises(FileNotFoundError, match="nothing at memory://bucket/run/gnn/nothing"):
        load_policy(f"{url}/gnn/nothing")
    baseline = f"{url}/op_counts/checkpoint.pt"
    config = parse(GNN_PRESETS, "", ["--baseline", baseline])
    assert config.baseline == baseline
    assert train(_of_one_iteration(tmp_path / "run", baseline)) == 0


def _of_one_iteration(folder, baseline):
    changes = {"total_steps": 24, "out": folder, "baseline": baseline, "samples": 0}
    return tiny_config(workers="in-process", **changes)


def test_settings_of_an_earlier_version_are_not_taken_for_ours(tmp_path):
    write_checked_json(tmp_path / "config.json", "run settings", 1, {"config": {"workers": 2}})
    with pytest.raises(SystemExit, match=r"expected version 2 .* Use the hlograph that wrote it"):
        _resumed(str(tmp_path))
