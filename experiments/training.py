"""Trains one policy: collect, update, write down; evaluate and save now and then."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

import hlograph
from experiments.benchmarks import Reference
from experiments.checkpoint import Checkpoint
from experiments.config import OpCountTrainConfig
from experiments.config_json import to_json
from experiments.evaluation import Outcome, evaluate
from experiments.learner import NUM_ACTIONS, Learner, env_maker, new_policy
from experiments.lockstep import Lockstep, lockstep
from experiments.rollout import Deck, collect
from experiments.states import STOP
from experiments.stopwatch import Stopwatch
from experiments.training_log import IterationReport, TrainingLog, flat_settings
from models.ppo import PPO

CHECKPOINT = "checkpoint.pt"


class Training:
    """Training of one learner, from the start or from a checkpoint in its folder.

    Args:
        learner: What is trained.
        config: Settings of the run.
        folder: Where checkpoint and events go.
        train: Names of the benchmarks to train on.
        test: Names of the held-out benchmarks.
        references: Op counts without a policy of all of them.
    """

    def __init__(
        self,
        learner: Learner,
        config: OpCountTrainConfig,
        folder: Path,
        train: Sequence[str],
        test: Sequence[str],
        references: Mapping[str, Reference],
    ) -> None:
        self._learner, self._config, self._folder = learner, config, folder
        self._train, self._test = list(train), list(test)
        self._ppo = PPO(new_policy(learner, config), learner.ppo)
        self._iteration = self._steps = 0
        self._clock = Stopwatch()
        if self.checkpoint.exists():
            self._resume()
        self._saved = self._take()
        actions = [*hlograph.passes.names, STOP]
        self._log = TrainingLog(folder, actions, references, purge_step=self._steps)

    @property
    def checkpoint(self) -> Path:
        """The checkpoint's file."""
        return self._folder / CHECKPOINT

    def run(self) -> list[Outcome]:
        """Trains to the end of the step budget.

        Returns:
            What the policy makes of the held-out benchmarks in the end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; the state is saved.
        """
        try:
            return self._run()
        except KeyboardInterrupt:
            # Parameters may be in the middle of an update: saved is the state before the
            # iteration, which a resumed run repeats.
            self._saved.save(self.checkpoint)
            raise
        finally:
            self._log.close()

    def _run(self) -> list[Outcome]:
        """Iterations until the step budget is spent, then the last evaluation."""
        config = self._config
        make_env = env_maker(self._learner, config, self._train)
        bar = tqdm(
            total=config.total_steps,
            initial=self._steps,
            desc=self._learner.name,
            unit="step",
            dynamic_ncols=True,
        )
        with lockstep(make_env, config.num_envs, config.threads) as envs, bar:
            while self._steps < config.total_steps:
                before = self._steps
                ratios = self._iterate(envs)
                bar.update(self._steps - before)
                bar.set_postfix({f"vs {name}": f"{ratio:.3f}" for name, ratio in ratios.items()})
                self._saved = self._take()
                if self._iteration % config.checkpoint_every == 0:
                    self._saved.save(self.checkpoint)
                if self._evaluation_is_due(before):
                    self._evaluate()
        self._saved.save(self.checkpoint)
        return self._evaluate()

    def _iterate(self, envs: Lockstep) -> dict[str, float]:
        """Collects and learns once; returns the train ratios by reference."""
        seed = np.random.SeedSequence([self._config.seed, self._iteration]).generate_state(3)
        rollout, stats = collect(
            envs,
            self._ppo.policy,
            Deck(self._train, int(seed[0])),
            torch.Generator().manual_seed(int(seed[1])),
            steps=self._config.horizon,
            node_budget=self._ppo.config.node_budget,
            clock=self._clock,
        )
        with self._clock.section("update"):
            update = self._ppo.update(
                rollout,
                progress=self._steps / self._config.total_steps,
                generator=torch.Generator().manual_seed(int(seed[2])),
            )
        self._iteration += 1
        self._steps += rollout.action.numel()
        return self._log.iteration(
            IterationReport(
                steps=self._steps,
                action_counts=torch.bincount(
                    rollout.action.flatten(), minlength=NUM_ACTIONS
                ).numpy(),
                rollout=stats,
                update=update,
                distinct_states=len(rollout.state.unique()),
                seconds=self._clock.reset(),
            )
        )

    def _evaluation_is_due(self, before: int) -> bool:
        """Whether a share of the budget was passed; the end has an evaluation of its own."""
        config = self._config
        parts = [
            steps * config.evaluations // config.total_steps for steps in (before, self._steps)
        ]
        return parts[0] < parts[1] and self._steps < config.total_steps

    def _evaluate(self) -> list[Outcome]:
        """Plays the held-out benchmarks and writes the ratios down."""
        outcomes = evaluate(
            env_maker(self._learner, self._config, self._test),
            self._ppo.policy,
            self._test,
            self._config.num_envs,
            self._config.threads,
            self._ppo.config.node_budget,
        )
        ratios = self._log.held_out(outcomes, self._steps)
        if self._steps >= self._config.total_steps:
            self._log.final(flat_settings(to_json(self._config)), ratios)
        return outcomes

    def _take(self) -> Checkpoint:
        return Checkpoint.take(self._learner, self._config, self._ppo, self._iteration, self._steps)

    def _resume(self) -> None:
        checkpoint = Checkpoint.load(self.checkpoint)
        if checkpoint.learner != self._learner.name:
            raise ValueError(f"{self.checkpoint} is of {checkpoint.learner}")
        checkpoint.restore(self._ppo)
        self._iteration, self._steps = checkpoint.iteration, checkpoint.steps
