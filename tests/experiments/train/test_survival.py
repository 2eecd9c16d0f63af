"""Files survive kills at any point, full disks, damaged files, a second run."""

import json
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

from experiments.evaluate.run_folder import RunFolderError, run_folder
from experiments.policies.checkpoint import DAMAGED, PREVIOUS, Checkpoint, CheckpointFiles
from experiments.train.command_line import GNN_PRESETS, parse
from experiments.train.program import REFUSED, train
from hlograph.errors import DamagedFileError
from tests.experiments.tiny_run import results, same_policies, tiny_config
from tests.experiments.train.mortal_run import POINTS, run_apart, said_by

FORKS = multiprocessing.get_context("forkserver")


def _run(folder, point, workers="in-process", file_bytes=None):
    """Starts a run in a process of the fork server, which has imported torch and the engine."""
    process = FORKS.Process(target=run_apart, args=(folder, point, workers, file_bytes))
    process.start()
    return process


def _ended(process, folder):
    """Waits for a run, and returns its exit status and its output."""
    process.join(600)
    return process.exitcode, said_by(folder).read_text()


def _continued(folder):
    """Continues a run in this process, which saves the seconds that another takes to start."""
    return train(parse(GNN_PRESETS, "", ["--resume", str(folder)]))


def test_a_run_killed_again_and_again_ends_as_if_it_never_was(finished, tmp_path):
    folder = tmp_path / "run"
    # The slow tests kill at every point.
    for point in ("a checkpoint", "the other policy"):
        status, said = _ended(_run(folder, point), folder)
        assert status == -signal.SIGKILL, said
    assert _continued(folder) == 0
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)
    assert not list(folder.rglob(".*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_run_killed_at_a_point(finished, tmp_path, point):
    folder = tmp_path / "run"
    _ended(_run(folder, point, "processes"), folder)
    status, said = _ended(_run(folder, "none", "processes"), folder)
    assert status == 0, said
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)


@pytest.mark.slow
def test_a_run_killed_at_random_moments(finished, tmp_path):
    folder = tmp_path / "run"
    generator = random.Random(0)
    for _ in range(20):
        process = _run(folder, "none", "processes")
        process.join(generator.uniform(1, 8))
        process.kill()
        process.join()
    status, said = _ended(_run(folder, "none", "processes"), folder)
    assert status == 0, said
    assert same_policies(finished, folder)
    assert results(finished) == results(folder)


def test_a_full_disk_ends_a_run_that_can_go_on(finished, tmp_path):
    folder = tmp_path / "run"
    # The kernel refuses to write files beyond this size, as it does on a full disk.
    smallest = min(path.stat().st_size for path in finished.rglob("checkpoint.pt"))
    status, said = _ended(_run(folder, "none", file_bytes=smallest // 2), folder)
    assert status == 3, said
    assert "OSError" in said
    assert f"experiments.train_gnn --resume {folder}" in said
    assert "Traceback" not in said
    assert _continued(folder) == 0
    assert results(finished) == results(folder)


def test_where_nothing_can_be_written_no_run_begins(tmp_path, capsys):
    (tmp_path / "file").touch()
    for folder in (Path("/proc/run"), tmp_path / "file" / "run"):
        assert train(tiny_config(out=folder)) == REFUSED
        assert f"cannot write to {folder}" in capsys.readouterr().err


def test_two_runs_do_not_share_a_folder(tmp_path, capsys):
    folder = tmp_path / "run"
    with run_folder(folder):
        before = sorted(folder.iterdir())
        # A lock is of an opened file: another of the same process has to wait, too.
        assert train(tiny_config(out=folder)) == REFUSED
        assert f"process {os.getpid()} is at work in {folder}" in capsys.readouterr().err
        assert sorted(folder.iterdir()) == before
    with run_folder(folder):
        pass


def test_a_lock_ends_with_its_process(tmp_path, capsys):
    folder = tmp_path / "run"
    process = _run(folder, "none")
    while not (folder / "config.json").exists() and process.is_alive():
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGSTOP)  # so that it does not end before it is killed
    with pytest.raises(RunFolderError, match=f"process {process.pid}"), run_folder(folder):
        pass
    assert train(tiny_config(out=folder)) == REFUSED
    assert f"process {process.pid} is at work in {folder}" in capsys.readouterr().err
    process.kill()
    process.join()
    with run_folder(folder):
        pass


@pytest.fixture
def files(finished, tmp_path):
    """Checkpoint files of a kind with two generations, and the checkpoint."""
    made = CheckpointFiles(tmp_path)
    checkpoint = Checkpoint.load(finished / "gnn" / "checkpoint.pt")
    made.save(checkpoint)
    made.save(checkpoint)
    return made


def test_a_damaged_checkpoint_gives_way_to_the_one_before(files, tmp_path, capsys):
    newest = tmp_path / "checkpoint.pt"
    newest.write_bytes(newest.read_bytes()[:-1])
    found = files.load()
    assert found is not None
    assert found.steps == 48
    assert "cut off" in capsys.readouterr().out
    assert (tmp_path / DAMAGED).exists()
    assert not newest.exists()
    # The damaged one does not take the place of the good one.
    files.save(found)
    newest.write_bytes(b"")
    assert files.load() is not None


def test_without_a_good_checkpoint_it_says_so(files, tmp_path):
    for path in (tmp_path / "checkpoint.pt", tmp_path / PREVIOUS):
        path.write_bytes(b"PK something else")
    with pytest.raises(DamagedFileError, match="is no checkpoint of hlograph"):
        files.load()


def test_no_checkpoint_is_none(tmp_path):
    assert CheckpointFiles(tmp_path).load() is None


def test_a_checkpoint_executes_nothing(tmp_path):
    import io
    import pickle

    import torch

    from hlograph.storage.checked_file import write_checked

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/executed",)

    buffer = io.BytesIO()
    torch.save({"learner": Evil()}, buffer)
    for data in (buffer.getvalue(), pickle.dumps(Evil(), protocol=2), b""):
        write_checked(tmp_path / "evil.pt", "checkpoint", 3, data)
        with pytest.raises(DamagedFileError, match="something else than a checkpoint"):
            Checkpoint.load(tmp_path / "evil.pt")
    assert not (tmp_path / "executed").exists()


def test_damaged_settings_are_named(finished, tmp_path):
    config = json.loads((finished / "config.json").read_text())
    config["config"]["seed"] = 7
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit, match="was altered"):
        parse(GNN_PRESETS, "", ["--resume", str(tmp_path)])
