"""Tasks of fusion decisions: to try a benchmark, and to compare choices of fusions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from envs.fusion_policies import FusionPolicy, Greedy, PickFirst, Uniform, play
from envs.pass_decisions import PassDecisionsEnv
from experiments.evaluate.benchmarks import load
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.fusion_comparison import Fused, FusionComparison
from experiments.policies.config import FusionTrainConfig
from experiments.policies.fusion import ALL_DECISIONS
from experiments.workers.worker import RolloutWorker, Task
from hlograph.errors import HloError
from hlograph.execution.executable import Executable, random_inputs
from hlograph.module import Module
from hlograph.transforms.xla_cpu import before_fusion


@dataclass(frozen=True)
class TryFusing(Task):
    """Lowers and runs a benchmark without any fusion."""

    benchmark: str

    def do(self, worker: RolloutWorker) -> int | str:
        """Returns the kernels of XLA's own choice, or the reason why the benchmark does not run."""
        worker.recorder.begin(f"lowering {self.benchmark}".encode(), worker.config.check_seconds)
        try:
            module = load(self.benchmark)
            code = Executable(before_fusion(module), lowered=True)
            code.run(random_inputs(module))
            return max(Executable(module).kernels, 1)
        except HloError as error:
            return str(error)
        finally:
            worker.recorder.end()


class FusionRow(NamedTuple):
    """One benchmark of the final table."""

    benchmark: str
    fused: Mapping[str, Fused]
    """Measurements by method, ``"xla"`` first, then the policy."""


@dataclass(frozen=True)
class CompareFusions(Task):
    """Measures the fusions of a policy and of HloEnv's heuristics on a benchmark."""

    outcome: Outcome
    """Result of the policy."""
    name: str
    """Name in tables."""

    def do(self, worker: RolloutWorker) -> FusionRow:
        """Plays the heuristics, compiles all results and times them."""
        config, benchmark = worker.config, self.outcome.benchmark
        assert isinstance(config, FusionTrainConfig)
        worker.recorder.begin(f"comparing {benchmark}".encode(), config.check_seconds)
        how = (config.seed, config.samples, config.pairs, config.sample_seconds)
        beside = FusionComparison(benchmark, *how)
        module = fused(benchmark, self.outcome.passes)
        module.verify()
        found = {"xla": beside.xla, self.name: beside.of(module)}
        found |= {
            name: beside.of(_played(config, benchmark, policy))
            for name, policy in heuristics(config.seed).items()
        }
        worker.recorder.end()
        return FusionRow(benchmark, found)


def heuristics(seed: int) -> dict[str, FusionPolicy]:
    """Returns HloEnv's heuristics, by their name in tables."""
    return {"pick first": PickFirst(), "uniform": Uniform(seed), "greedy": Greedy()}


def fused(benchmark: str, places: Sequence[str]) -> Module:
    """Returns a benchmark, lowered, with fusions.

    Args:
        benchmark: Name of it.
        places: Places of the pairs that are fused, in order.
    """
    module = before_fusion(load(benchmark))
    for place in places:
        module.apply(place)
    return module


def _played(config: FusionTrainConfig, benchmark: str, policy: FusionPolicy) -> Module:
    env = PassDecisionsEnv(
        benchmark, passes=config.passes, observation="op_counts", horizon=ALL_DECISIONS
    )
    env.reset()
    play(env, policy)
    return env.module
