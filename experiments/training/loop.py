"""Trains one policy: collect, update, write down; evaluate and save now and then."""

import copy
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from experiments.outcomes.evaluation import Measure, Outcome, score
from experiments.policies.checkpoint import Best, Checkpoint
from experiments.policies.checkpoint_files import CheckpointFiles
from experiments.policies.config import PassTrainConfig, TrainConfig
from experiments.policies.config_json import to_json
from experiments.policies.learner import Learner, new_policy
from experiments.training.demonstrations import known_ways
from experiments.training.log import IterationReport, TrainingLog, flat_settings
from experiments.workers.crew import Crew
from models.cloning import clone_behaviour
from models.ppo import PPO


class Training:
    """Training of one learner, from the start or from a checkpoint in its folder.

    Args:
        learner: What is trained.
        config: Settings of the run.
        folder: Where checkpoint and events go.
        train: Names of the benchmarks to train on.
        validation: Names of those that are played while it trains, and choose the policy that is
            kept; none keeps the last.
        test: Names of those that are played in the end.
        measure: What logs compare results of them with.
        crew: Plays the policy.

    Raises:
        DamagedFileError: There are checkpoints in the folder, and none is whole.
        ValueError: The checkpoint there is of other networks or passes.
    """

    def __init__(
        self,
        learner: Learner,
        config: TrainConfig,
        folder: Path,
        train: Sequence[str],
        validation: Sequence[str],
        test: Sequence[str],
        measure: Measure,
        crew: Crew,
    ) -> None:
        self._learner, self._config, self._crew = learner, config, crew
        self._train, self._validation, self._test = list(train), list(validation), list(test)
        self._imitated: int | None = None
        self._best: Best | None = None
        self._ppo = PPO(new_policy(learner, config), learner.ppo, config.threads)
        self._iteration = self._steps = 0
        self._files = CheckpointFiles(folder)
        self._resume()
        self._saved = self._take()
        self._log = TrainingLog(folder, learner.actions, measure, after=self._steps)

    def run(self) -> list[Outcome]:
        """Trains to the end of the step budget.

        Returns:
            What the policy that is kept makes of the test benchmarks.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; the state is saved.
        """
        try:
            return self._run()
        except KeyboardInterrupt:
            # Parameters may be in the middle of an update: saved is the state before the
            # iteration, which a resumed run repeats.
            self._files.save(self._saved)
            raise
        finally:
            self._log.close()

    def _run(self) -> list[Outcome]:
        """Iterations until the step budget is spent, then the last evaluation."""
        config = self._config
        bar = tqdm(
            total=config.total_steps,
            initial=self._steps,
            desc=self._learner.name,
            unit="step",
            dynamic_ncols=True,
        )
        if self._imitated is None:
            self._imitate()
        with bar:
            while self._steps < config.total_steps:
                before = self._steps
                ratios = self._iterate()
                bar.update(self._steps - before)
                bar.set_postfix({f"vs {name}": f"{ratio:.3f}" for name, ratio in ratios.items()})
                if self._evaluation_is_due(before):
                    self._validate()
                # After the evaluation: what it puts in quarantine is part of the state.
                self._saved = self._take()
                if self._iteration % config.checkpoint_every == 0:
                    self._files.save(self._saved)
        self._files.save(self._saved)
        return self._test_kept()

    def _imitate(self) -> None:
        """Learns from what searches found on the training benchmarks, if anything is known."""
        config = self._config
        cloning = config.cloning if isinstance(config, PassTrainConfig) else None
        ways = known_ways(self._train) if cloning is not None and cloning.epochs else {}
        self._imitated = len(ways)
        if cloning is None or not ways:
            return
        print(f"{self._learner.name}: imitates what searches found on {len(ways)} benchmarks")
        shown = self._crew.demonstrate(self._learner.name, ways, config.seed)
        generator = torch.Generator().manual_seed(config.seed)
        for stats in clone_behaviour(
            self._ppo.policy, shown, cloning, self._learner.ppo, generator, config.threads
        ):
            self._log.cloning(stats)
        self._validate()
        self._saved = self._take()
        self._files.save(self._saved)

    def _iterate(self) -> dict[str, float]:
        """Collects and learns once; returns the train ratios by reference."""
        start = time.perf_counter()
        seed = [self._config.seed, self._iteration]
        collected = self._crew.collect(self._learner.name, self._ppo.policy, self._train, seed)
        rollout_seconds = time.perf_counter() - start
        update_seed = int(np.random.SeedSequence([*seed, 1]).generate_state(1)[0])
        update = self._ppo.update(
            collected.rollout,
            progress=self._steps / self._config.total_steps,
            generator=torch.Generator().manual_seed(update_seed),
        )
        rollout = collected.rollout
        self._iteration += 1
        self._steps += rollout.action.numel()
        return self._log.iteration(
            IterationReport(
                steps=self._steps,
                action_counts=torch.bincount(
                    rollout.action.flatten(), minlength=len(self._learner.actions)
                ).numpy(),
                rollout=collected.stats,
                update=update,
                distinct_states=len(rollout.keys),
                worker_seconds=collected.seconds,
                rollout_seconds=rollout_seconds,
                update_seconds=time.perf_counter() - start - rollout_seconds,
                lost_workers=self._crew.events.take_counts(),
                in_quarantine=len(self._crew.quarantine),
            )
        )

    def _evaluation_is_due(self, before: int) -> bool:
        """Whether a share of the budget was passed; the last one ends with it."""
        config = self._config
        parts = [
            min(steps, config.total_steps) * config.evaluations // config.total_steps
            for steps in (before, self._steps)
        ]
        return parts[0] < parts[1]

    def _validate(self) -> None:
        """Plays the validation benchmarks, and notes the policy if none did better."""
        if not self._validation:
            return
        outcomes = self._crew.play(self._learner.name, self._ppo.policy, self._validation)
        ratios = self._log.validation(outcomes, self._steps)
        value = score(outcomes, list(ratios.values()))
        if math.isnan(value):
            return
        if self._config.keep_best and (self._best is None or value > self._best.score):
            self._best = Best(value, self._steps, copy.deepcopy(self._ppo.policy.state_dict()))

    def _test_kept(self) -> list[Outcome]:
        """Plays the test benchmarks and writes the ratios down."""
        policy = self._ppo.policy
        if self._best is not None:
            policy = copy.deepcopy(policy)
            policy.load_state_dict(self._best.policy)
            print(
                f"{self._learner.name}: validation chose the policy after {self._best.steps} calls"
            )
        outcomes = self._crew.play(self._learner.name, policy, self._test)
        self._log.test(outcomes, self._steps, flat_settings(to_json(self._config)))
        return outcomes

    def _take(self) -> Checkpoint:
        return Checkpoint.take(
            self._learner,
            self._config,
            self._ppo,
            self._iteration,
            self._steps,
            self._imitated,
            self._crew.quarantine,
            self._best,
        )

    def _resume(self) -> None:
        """Goes on from the newest checkpoint in the folder, if there is one."""
        checkpoint = self._files.load()
        if checkpoint is None:
            return
        if checkpoint.learner != self._learner.name:
            raise ValueError(f"the checkpoint is of {checkpoint.learner}, not {self._learner.name}")
        checkpoint.restore(self._learner, self._ppo)
        self._iteration, self._steps = checkpoint.iteration, checkpoint.steps
        self._imitated, self._best = checkpoint.imitated, checkpoint.best
        self._crew.quarantine = self._crew.quarantine.with_pairs(checkpoint.quarantine)
