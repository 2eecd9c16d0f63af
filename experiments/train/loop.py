"""Trains one policy: imitate, then collect, update and log; evaluate and save at intervals."""

import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import torch
from tqdm import tqdm

from experiments.evaluate.benchmarks import training_benchmarks
from experiments.evaluate.best_known import known_of
from experiments.evaluate.evaluation import Measure, Outcome
from experiments.policies.checkpoint import Best, Checkpoint, CheckpointFiles
from experiments.policies.config import to_json
from experiments.policies.kind import PolicyKind
from experiments.train.effects import held_out_errors, learn_effects
from experiments.train.final_tables import FinalTable, Splits
from experiments.train.log import IterationReport, TrainingLog, flat_settings
from experiments.train.recorded_steps import TEACHERS, RecordedSteps, Teacher
from experiments.workers.collecting import EPISODE_WEIGHT, Shortfalls
from experiments.workers.run_events import phase_bar
from experiments.workers.task_runner import TaskRunner
from hlograph.errors import HloError
from models.actor_critic import ActorCritic
from models.cloning import clone_behaviour
from models.config import CloningConfig
from models.ppo import PPO


class Training:
    """Training of one policy, from the start or from a checkpoint in its folder.

    Args:
        kind: Kind of the policy, with the settings of the run.
        folder: Folder of checkpoints and events.
        splits: The benchmarks.
        measure: Quantity by which logs compare results with references.
        runner: Runs the tasks of the workers.
        table: Measures while training; None leaves that out.
        start: Checkpoint whose policy is trained further, if it is of this kind.

    Raises:
        DamagedFileError: There are checkpoints in the folder, and none is whole.
        ValueError: The checkpoint there is of other networks, or knows other actions.
        HloError: That to start from is.
    """

    def __init__(
        self,
        kind: PolicyKind,
        folder: Path,
        splits: Splits,
        measure: Measure,
        runner: TaskRunner,
        table: FinalTable | None = None,
        start: Checkpoint | None = None,
    ) -> None:
        self._kind, self._config, self._runner = kind, kind.config, runner
        self._splits, self._table = splits, table
        self._imitated: int | None = None
        self._shortfalls: Shortfalls | None = None
        if getattr(kind.config, "sampling", "uniform") == "shortfall":
            self._shortfalls = Shortfalls(known_of(splits.train), {})
        self._best: Best | None = None
        self._ppo = PPO(kind.new_policy(), kind.ppo, self._config.threads)
        self._iteration = self._steps = 0
        self._files = CheckpointFiles(folder)
        self._start = start if start is not None and start.kind == kind.name else None
        if not self._resume() and self._start is not None:
            self._start_from(self._start)
        self._saved = self._take()
        self._log = TrainingLog(folder, kind.outputs, measure, after=self._steps)

    def run(self) -> list[Outcome]:
        """Trains to the end of the step budget.

        Returns:
            Results of the kept policy on the test benchmarks.

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
        """Imitates, iterates until the step budget is spent, and plays the test benchmarks."""
        config = self._config
        if self._imitated is None:
            self._imitate()
        elif self._start is not None and self._steps == 0 and self._best is None:
            self._validate()  # The policy that training has to improve on.
            self._saved = self._take()
        if self._shortfalls and not self._shortfalls.values and self._steps < config.total_steps:
            self._find_shortfalls(self._shortfalls)
            self._saved = self._take()
        bar = tqdm(
            total=config.total_steps,
            initial=self._steps,
            desc=f"{self._kind.name}: PPO",
            unit="step",
            dynamic_ncols=True,
        )
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
        self._learn_effects()
        self._files.save(self._saved)
        return self._test_kept()

    def _imitate(self) -> None:
        """Learns from what its teacher shows on the training benchmarks, if anything."""
        kind, cloning = self._kind, self._kind.cloning
        self._imitated = 0
        if kind.imitates is None or cloning is None or not cloning.epochs:
            return
        teacher: Teacher = resolve_name(TEACHERS[kind.imitates])
        recorded = teacher.recorded(self._runner, self._training_benchmarks(cloning.op_limit))
        self._imitated = len(recorded)
        if not recorded:
            return
        print(f"{kind.name}: imitates {teacher.noun} on {len(recorded)} benchmarks")
        shown = teacher.demonstrate(self._runner, kind, recorded)
        generator = torch.Generator().manual_seed(self._config.seed)
        self._clone(shown, cloning, generator)
        again = replace(cloning, epochs=cloning.correction_epochs)
        played = {name: recorded[name] for name in self._splits.train if name in recorded}
        for number in range(cloning.corrections):
            shown.extend(teacher.correct(self._runner, kind, played, self._ppo.policy))
            self._clone(shown, again, generator, cloning.epochs + number * again.epochs)
        self._validate()
        self._saved = self._take()
        self._files.save(self._saved)

    def _training_benchmarks(self, op_limit: int | None) -> list[str]:
        """Returns the training benchmarks, of the corpus up to a size of their own.

        Args:
            op_limit: Largest number of instructions; None is the limit of training.
        """
        config = self._config
        if op_limit is None or config.benchmarks:
            return list(self._splits.train)
        return training_benchmarks((), op_limit, config.corpus_set)

    def _clone(
        self,
        shown: RecordedSteps,
        cloning: CloningConfig,
        generator: torch.Generator,
        after: int = 0,
    ) -> None:
        """Imitates recorded decisions; logs its epochs with numbers that begin after others."""
        kind = self._kind
        with phase_bar(f"{kind.name}: imitation", cloning.epochs, "epoch") as bar:
            for stats in clone_behaviour(
                self._ppo.policy,
                shown.demonstrations(),
                cloning,
                kind.ppo,
                generator,
                self._config.threads,
            ):
                self._log.cloning(replace(stats, epoch=after + stats.epoch))
                bar.update()

    def _learn_effects(self) -> None:
        """Teaches the kept policy which actions make a difference, if its kind predicts that.

        Of the corpus it plays modules up to a size of their own. The policy itself stays the same;
        it was kept by episodes that use no predictions.
        """
        kind, config, policy = self._kind, self._kind.effects, self._ppo.policy
        if config is None or not config.episodes:
            return
        kept = self._kept().cpu()
        if kept.predicts_effects:
            return
        train = self._training_benchmarks(config.op_limit)
        for epoch, loss in enumerate(learn_effects(self._runner, kind, kept, train, config)):
            self._log.measurements({"effects/loss": loss}, epoch)
        held_out = self._splits.validation
        if held_out and (errors := held_out_errors(self._runner, kind, kept, held_out)) is not None:
            scalars = {f"effects/{name}": value for name, value in asdict(errors).items()}
            self._log.measurements(scalars, self._steps)
            print(
                f"{kind.name}: of the calls on validation benchmarks that change nothing "
                f"{errors.left_out:.0%} are predicted, and of the others {errors.lost:.1%}; "
                f"episodes end in {errors.stopped:.0%} of the states that nothing better comes "
                f"after, and in {errors.stopped_early:.1%} of the others"
            )
        learned = {k: v for k, v in kept.state_dict().items() if k.startswith("effects.")}
        policy.load_state_dict({**policy.state_dict(), **learned})
        if self._ppo.average is not None:
            self._ppo.average |= learned
        if self._best is not None:
            self._best = replace(self._best, policy={**self._best.policy, **learned})
        self._saved = self._take()

    def _find_shortfalls(self, shortfalls: Shortfalls) -> None:
        """Plays the training benchmarks, to see where the policy stays behind what is known."""
        names, name = list(shortfalls.best_known), self._kind.name
        if names:
            results = self._runner.play(name, self._ppo.policy, names, f"{name}: shortfalls")
            shortfalls.note(results, 1.0)

    def _iterate(self) -> dict[str, float]:
        """Collects and learns once; returns the train ratios by reference."""
        start = time.perf_counter()
        seed = [self._config.seed, self._iteration]
        policy = self._ppo.policy
        if policy.effects is not None:
            policy.effects.forget()  # those of a policy to start from; the encoder learns further
        train, shortfalls = self._splits.train, self._shortfalls
        dealt = shortfalls.dealt(train) if shortfalls else train
        collected = self._runner.collect(self._kind.name, policy, dealt, seed)
        figures = dict(self._table.correct(collected, self._runner)) if self._table else {}
        if shortfalls:
            shortfalls.note(collected.stats.episodes, EPISODE_WEIGHT)
            figures["rollout/shortfall"] = shortfalls.mean
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
        self._log.measurements(figures, self._steps)
        return self._log.iteration(
            IterationReport(
                steps=self._steps,
                action_counts=torch.bincount(
                    rollout.action.flatten(), minlength=len(self._kind.outputs)
                ).numpy(),
                rollout=collected.stats,
                update=update,
                distinct_states=len(rollout.keys),
                worker_seconds=collected.seconds,
                rollout_seconds=rollout_seconds,
                update_seconds=time.perf_counter() - start - rollout_seconds,
                lost_workers=self._runner.events.take_counts(),
                in_quarantine=len(self._runner.quarantine),
            )
        )

    def _evaluation_is_due(self, before: int) -> bool:
        """Returns True if the steps since then completed one of the equal shares of the budget."""
        config = self._config
        parts = [
            min(steps, config.total_steps) * config.evaluations // config.total_steps
            for steps in (before, self._steps)
        ]
        return parts[0] < parts[1]

    def _validate(self) -> None:
        """Plays the validation benchmarks, and keeps the policy if it is the best so far."""
        if not self._splits.validation:
            return
        name, policy = self._kind.name, self._ppo.averaged()
        description = f"{name}: validation"
        outcomes = self._runner.play(name, policy, self._splits.validation, description)
        ratios = self._log.validation(outcomes, self._steps)
        value = self._kind.score(outcomes, list(ratios.values()))
        measured = self._table.judge(outcomes, self._runner) if self._table else None
        if measured is not None:
            self._log.measurements(measured.scalars, self._steps)
            value = measured.score
        if math.isnan(value):
            return
        config = self._config
        if not (config.keep_best and config.evaluations):
            return
        if self._best is None or value > self._best.score:
            self._best = Best(value, self._steps, policy.state_dict())

    def _test_kept(self) -> list[Outcome]:
        """Plays the test benchmarks with the kept policy, and logs the ratios."""
        name = self._kind.name
        if self._best is not None:
            print(f"{name}: validation chose the policy after {self._best.steps} steps")
        outcomes = self._runner.play(name, self._kept(), self._splits.test, f"{name}: test")
        self._log.test(outcomes, self._steps, flat_settings(to_json(self._config)))
        return outcomes

    def _kept(self) -> ActorCritic:
        """Returns a copy of the policy that did best, or of the present one if none was chosen."""
        policy = self._ppo.averaged()
        if self._best is not None:
            policy.load_parameters(self._best.policy)
        return policy

    def _take(self) -> Checkpoint:
        return Checkpoint.take(
            self._kind,
            self._ppo,
            self._iteration,
            self._steps,
            self._imitated,
            self._runner.quarantine,
            self._best,
            self._shortfalls.values if self._shortfalls else None,
        )

    def _resume(self) -> bool:
        """Continues from the newest checkpoint in the folder; returns False if there is none."""
        checkpoint = self._files.load()
        if checkpoint is None:
            return False
        if checkpoint.kind != self._kind.name:
            raise ValueError(f"the checkpoint is of {checkpoint.kind}, not {self._kind.name}")
        checkpoint = checkpoint.restore(self._kind, self._ppo)
        self._iteration, self._steps = checkpoint.iteration, checkpoint.steps
        self._imitated, self._best = checkpoint.imitated, checkpoint.best
        if self._shortfalls and checkpoint.shortfalls is not None:
            self._shortfalls.values = dict(checkpoint.shortfalls)
        self._runner.quarantine = self._runner.quarantine.with_pairs(checkpoint.quarantine)
        return True

    def _start_from(self, start: Checkpoint) -> None:
        """Takes the policy of a checkpoint of another run."""
        try:
            start.load_into(self._kind, self._ppo.policy)
        except ValueError as error:
            raise HloError(f"the policy to start from does not fit: {error}") from error
        self._imitated = start.imitated or 0
