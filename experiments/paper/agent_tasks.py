"""Task that trains an agent of stable-baselines3 or sb3-contrib in a worker."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from experiments.evaluate.evaluation import Outcome
from experiments.paper.agents import AgentTraining, Learned, MakeEnv
from experiments.policies.config import OpCountTrainConfig
from experiments.policies.kind import policy_kind
from experiments.workers.worker import RolloutWorker, Task
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.event_files import tensorboard_without_tensorflow

_KIND, _VERSION = "trained agent", 2


@dataclass(frozen=True, kw_only=True)
class TrainAgent(Task):
    """Trains an agent and plays it while it learns."""

    training: AgentTraining
    path: Path
    """File that the result is kept in; an agent whose file exists is not trained again."""

    def do(self, worker: RolloutWorker) -> dict[str, Learned]:
        """Returns the outcomes by the name shown in tables; trains the agent if necessary."""
        if self.path.exists():
            return _read(self.path)
        tensorboard_without_tensorflow()
        from experiments.paper.third_party import train_agent

        config, plan = worker.config, self.training
        assert isinstance(config, OpCountTrainConfig)
        kind = policy_kind("op_counts", config)
        # No environment is without a benchmark, even if none is to be played in it.
        learned = train_agent(
            plan,
            config,
            *(
                cast(MakeEnv, worker.env_maker(kind, names, self.quarantine))
                for names in (plan.benchmarks, plan.validation or plan.held_out, plan.held_out)
            ),
        )
        content = {label: asdict(one) for label, one in learned.items()}
        write_checked_json(self.path, _KIND, _VERSION, {"learned": content})
        return learned


def _read(path: Path) -> dict[str, Learned]:
    return {
        label: Learned(
            [(steps, [_outcome(o) for o in outcomes]) for steps, outcomes in one["curve"]],
            [_outcome(o) for o in one["outcomes"]],
        )
        for label, one in read_checked_json(path, _KIND, _VERSION)["learned"].items()
    }


def _outcome(content: Mapping[str, Any]) -> Outcome:
    fields: dict[str, Any] = {**content, "passes": tuple(content["passes"])}
    return Outcome(**fields)


def require_libraries() -> None:
    """Checks that the agents' libraries are installed.

    Raises:
        HloError: One is not installed.
    """
    missing = [name for name in ("stable_baselines3", "sb3_contrib") if find_spec(name) is None]
    if missing:
        raise HloError(f"{' and '.join(missing)} not installed: pip install 'hlograph[paper]'")
