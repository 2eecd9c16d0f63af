"""Training to tune goes on when a decision ends its worker."""

import json
from functools import partial

from experiments.policies.checkpoint import Checkpoint
from experiments.training.program import train
from experiments.workers.run_events import EVENTS
from experiments.workers.task_runner import QUARANTINE
from tests.experiments.training.test_train_tuning import SAFE, tiny_tuning_config
from tests.experiments.workers.saboteur import make_sabotaged_worker


def test_a_decision_that_ends_its_worker_is_put_in_quarantine(tmp_path):
    folder, memory = tmp_path / "run", tmp_path / "memory"
    memory.mkdir()
    config = tiny_tuning_config(
        out=folder, decisions=SAFE, workers="processes", num_workers=1, measure_validation=False
    )
    assert train(config, "train_tuning", partial(make_sabotaged_worker, ["abort"], memory)) == 0
    lost = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    assert [event["event"] for event in lost] == ["crashed"]
    kept = Checkpoint.load(folder / "tuning" / "checkpoint.pt")
    assert len(list(kept.quarantine)) == 1
    # Decisions are no passes, so no module reproduces the loss.
    assert not (folder / QUARANTINE).exists()
