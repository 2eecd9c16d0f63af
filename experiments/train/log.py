"""Writes the progress of training for TensorBoard."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.tensorboard.summary import hparams
from torch.utils.tensorboard.writer import SummaryWriter

from experiments.evaluate.evaluation import Measure, Outcome, speedup
from experiments.workers.collecting import RolloutStats
from hlograph.execution.interrupts import uninterrupted
from models.cloning import CloningStats
from models.ppo import UpdateStats

LOSSES = ("crashed", "timed_out", "out_of_memory", "killed")
"""Reasons for which workers are lost."""


@dataclass(frozen=True)
class IterationReport:
    """Statistics of one iteration, for the log."""

    steps: int
    """Steps done, including this iteration."""
    action_counts: np.ndarray
    """int64 [A]"""
    rollout: RolloutStats
    update: UpdateStats
    distinct_states: int
    worker_seconds: Mapping[str, float]
    """Seconds by section (pass, featurisation, inference), added up over the workers."""
    rollout_seconds: float
    """Wall time while the workers played, and measured what was played."""
    update_seconds: float
    """Wall time while the policy learned."""
    lost_workers: Mapping[str, int]
    """Number of lost workers by reason: crashed, timed_out, out_of_memory, killed."""
    in_quarantine: int
    """Number of pairs of a state and a pass, or a benchmark and a rewrite, no longer tried."""


class TrainingLog:
    """Writes the scalars, histograms and texts of one policy.

    Args:
        folder: Folder of the event file.
        action_names: Name of each action.
        measure: Quantity by which results are compared with references; above 1 is better.
        after: Steps done. Events of later steps, from a run that did not save its state, are
            hidden.
    """

    def __init__(
        self,
        folder: Path,
        action_names: Sequence[str],
        measure: Measure,
        after: int,
    ) -> None:
        self._writer = SummaryWriter(str(folder), purge_step=after + 1 if after else None)
        self._action_names = action_names
        self._measure = measure

    @uninterrupted()
    def close(self) -> None:
        """Flushes and closes the event file."""
        self._writer.close()

    @uninterrupted()
    def cloning(self, stats: CloningStats) -> None:
        """Writes one epoch of learning from demonstrations."""
        scalars = {f"cloning/{name}": value for name, value in asdict(stats).items()}
        del scalars["cloning/epoch"]
        self._write(scalars, stats.epoch)

    @uninterrupted()
    def iteration(self, report: IterationReport) -> dict[str, float]:
        """Writes one iteration; returns the train ratios by reference."""
        episodes = report.rollout.episodes
        calls = int(report.action_counts.sum())
        scalars: dict[str, float] = {
            "rollout/no_op_rate": report.rollout.unchanged / calls,
            "rollout/error_rate": report.rollout.errors / calls,
            "rollout/distinct_state_rate": report.distinct_states / calls,
        }
        ratios = {}
        if episodes:
            scalars["rollout/episode_return"] = float(np.mean([e.reward for e in episodes]))
            scalars["rollout/episode_steps"] = float(np.mean([e.steps for e in episodes]))
            ratios = self._measure.of(episodes)
            scalars |= self._ratios("train", ratios)
        scalars |= {f"update/{name}": value for name, value in asdict(report.update).items()}
        scalars |= _speed(calls, report)
        scalars |= {f"workers/{kind}": report.lost_workers.get(kind, 0) for kind in LOSSES}
        scalars["workers/passes_in_quarantine"] = report.in_quarantine
        for name, count in zip(self._action_names, report.action_counts, strict=True):
            scalars[f"actions/{name}"] = count / calls
        self._write(scalars, report.steps)
        actions = np.repeat(np.arange(len(report.action_counts)), report.action_counts)
        self._writer.add_histogram("actions", actions, report.steps, bins="auto")
        return ratios

    @uninterrupted()
    def validation(self, outcomes: Sequence[Outcome], steps: int) -> dict[str, float]:
        """Writes an evaluation on the validation benchmarks; returns ratios by reference."""
        ratios = self._measure.of(outcomes)
        self._write(self._ratios("validation", ratios), steps)
        self._speedup(outcomes, "validation", steps)
        return ratios

    @uninterrupted()
    def measurements(self, scalars: Mapping[str, float], steps: int) -> None:
        """Writes measurements that were made while training."""
        self._write(scalars, steps)

    @uninterrupted()
    def test(self, outcomes: Sequence[Outcome], steps: int, settings: Mapping[str, Any]) -> None:
        """Writes the held-out ratios, with the settings for the hparams tab."""
        ratios = self._measure.of(outcomes)
        self._write(self._ratios("held_out", ratios), steps)
        self._speedup(outcomes, "held_out", steps)
        metrics = {f"hparam/held_out_{name}": value for name, value in ratios.items()}
        # SummaryWriter.add_hparams would open a second run; this writes into this one.
        file_writer = self._writer._get_file_writer()
        for summary in hparams(dict(settings), metrics):
            file_writer.add_summary(summary)
        for name, value in metrics.items():
            self._writer.add_scalar(name, value)

    def _ratios(self, split: str, ratios: Mapping[str, float]) -> dict[str, float]:
        return {f"{self._measure.name}_ratio_{split}/{k}": v for k, v in ratios.items()}

    def _speedup(self, outcomes: Sequence[Outcome], split: str, steps: int) -> None:
        ratio = speedup(outcomes)
        if ratio is not None:
            self._write({f"run_time_before_after/{split}": ratio}, steps)

    def _write(self, scalars: Mapping[str, float], steps: int) -> None:
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, steps)


def write_text(folder: Path, tag: str, text: str) -> None:
    """Writes preformatted text into an event file of its own."""
    with SummaryWriter(str(folder)) as writer:
        # Markdown shows lines that are indented by four as they are.
        writer.add_text(tag, "\n".join("    " + line for line in text.splitlines()))


def _speed(calls: int, report: IterationReport) -> dict[str, float]:
    """Steps per second of an iteration, and milliseconds a step by section."""
    seconds = {**report.worker_seconds, "update": report.update_seconds}
    speed = {f"speed/{name}_ms_per_step": 1e3 * s / calls for name, s in seconds.items()}
    whole = report.rollout_seconds + report.update_seconds
    return speed | {"speed/steps_per_second": calls / max(whole, 1e-9)}


def flat_settings(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns nested settings as one level of names, as the hparams tab wants them."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= flat_settings(value, f"{prefix}{name}.")
        else:
            plain = isinstance(value, int | float | str | bool)
            flat[prefix + name] = value if plain else str(value)
    return flat
