"""``hlograph predict``: predicts run times, and what is worth trying, without a run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from hlograph.commands.command import Answer
from hlograph.commands.sources import SourceCommand, SourceName
from hlograph.commands.text_tables import duration, table
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.execution.prediction_errors import PredictionErrors
    from hlograph.execution.rates import Rates
    from hlograph.optimization.predicting import Prediction

_KERNELS = ("share", "time", "calls", "kind", "opcode", "kernel", "bound by", "library", "shape")
_DECISIONS = ("saves", "times as fast", "places", "results", "decision", "about")


@dataclass(frozen=True, kw_only=True)
class Predict(SourceCommand):
    """Predicts the time of a program's run and kernels, and what is worth trying, without a run.

    XLA optimizes the program, and generates no code. The times are amounts of work, multiplied by
    rates of a machine; what decisions bring is predicted by trees that have learned from kernels.
    """

    source: SourceName
    """package.module:function, or a file with HLO or StableHLO."""
    machine: Annotated[str | None, tyro.conf.arg(metavar="FILE|KEY", help_behavior_hint="")] = None
    """Rates of a machine: a file that hlograph calibrate wrote, or its name in the cache folder. By
    default those of this machine if it was calibrated, or else those that come with hlograph."""
    top: int = 10
    """Largest number of kernels and of decisions to show; JSON has all of them."""

    def run(self) -> Answer:
        """Predicts; see the class."""
        from hlograph.execution.rates import current_rates, rates_named
        from hlograph.optimization.predicting import predict

        if self.top < 0:
            raise HloError(f"expected --top of at least 0, got {self.top}")
        rates = current_rates() if self.machine is None else rates_named(self.machine)
        origin = self._origin(rates)
        prediction = predict(self.program_of(self.source), rates=rates)
        lines = [*_summary(prediction), f"rates: {origin}"]
        parts = ["\n".join(lines), *_kernels(prediction, self.top), self._decisions(prediction)]
        return Answer("\n\n".join(parts), prediction.to_json() | {"rates": origin})

    def _origin(self, rates: Rates) -> str:
        """Returns a sentence about where rates are from."""
        from hlograph.execution.rates import default_rates
        from hlograph.storage.machine import machine

        if self.machine is not None:
            return f"of {rates.machine}, by --machine {self.machine}"
        if rates is not default_rates():
            return f"of this machine, {rates.machine}, by hlograph calibrate"
        same = "a machine like this one" if rates.machine == machine() else "another machine"
        return (
            f"those that come with hlograph, of {same}, {rates.machine}; hlograph calibrate "
            "measures those of this one"
        )

    def _decisions(self, prediction: Prediction) -> str:
        """Returns what is worth trying, and how."""
        promising = prediction.promising
        rest = f"others that apply: {len(prediction.decisions) - len(promising)}"
        if not promising:
            return (
                f"no decision is predicted to save a fiftieth of the time ({rest})\n"
                f"all are tried by: {self._optimize()}"
            )
        rows: list[tuple[str, ...]] = [_DECISIONS]
        for decision in promising[: self.top]:
            results = "exact" if decision.exact else "close"
            saved, ratio = duration(decision.saved), f"{decision.ratio:.2f}"
            about = _about(decision.instructions)
            rows.append((saved, ratio, str(decision.places), results, decision.name, about))
        hidden = len(promising) - len(rows) + 1
        more = f"not shown: {hidden}; " if hidden else ""
        return (
            f"worth trying, as predicted of each decision alone ({rest})\n"
            f"{table(rows, right=(0, 1, 2))}\n{more}measured, and joined, by: {self._optimize()}"
        )

    def _optimize(self) -> str:
        """Returns the command that tries decisions on this source."""
        words = ["hlograph", "optimize", self.source]
        if self.arguments is not None:
            words += ["--arguments", self.arguments]
        if self.shapes:
            words += ["--shapes", *self.shapes]
        if self.module is not None:
            words += ["--module", self.module]
        return shlex.join(words)


def _about(instructions: Sequence[str]) -> str:
    """Returns the first of some instructions, and the number of the others."""
    from hlograph.profiling.profile import shortened

    first, others = "".join(instructions[:1]), len(instructions) - 1
    return f"{shortened(first)} +{others}" if others > 0 else first


def _summary(prediction: Prediction) -> list[str]:
    """Returns lines about the time as a whole, and how far to believe it."""
    took = f"{prediction.name}: {duration(prediction.seconds)} a run of jaxlib's default, predicted"
    lines = [took]
    if prediction.interval is not None and prediction.errors is not None:
        low, high = map(duration, prediction.interval)
        lines = [f"{took}; nine of ten such programs take {low} to {high}"]
        lines += _belief(prediction.errors, prediction)
    if prediction.unknown_loops:
        names = ", ".join(prediction.unknown_loops)
        lines.append(f"taken to run 8 times, as only values tell how often they do: {names}")
    return lines


def _belief(errors: PredictionErrors, prediction: Prediction) -> list[str]:
    lines = [
        f"by work and rates, without a run: of {errors.programs} programs of {errors.families} "
        f"families that no rate was fitted to, nine of ten took {errors.low:.2g} to "
        f"{errors.high:.2g} times as long as predicted, half of them more than "
        f"{errors.median:.2g} times"
    ]
    if errors.machine != prediction.rates.machine:
        lines.append(f"they ran on another machine, {errors.machine}, predicted by its rates")
    if not errors.shortest <= prediction.seconds <= errors.longest:
        than = "shorter" if prediction.seconds < errors.shortest else "longer"
        bounds = f"{duration(errors.shortest)} to {duration(errors.longest)}"
        lines.append(f"they ran for {bounds}, and this one is predicted to be {than}")
    return lines


def _kernels(prediction: Prediction, top: int) -> list[str]:
    """Returns the table of the kernels that take longest; none if no row is asked for."""
    from hlograph.profiling.profile import shortened, without_layouts

    if not top:
        return []
    rows: list[tuple[str, ...]] = [_KERNELS]
    for kernel in prediction.kernels[:top]:
        rows.append(
            (
                f"{kernel.share:.1%}",
                duration(kernel.seconds),
                f"{kernel.calls:g}" if kernel.opcode else "",
                kernel.kind,
                kernel.opcode,
                shortened(kernel.name),
                kernel.bound_by,
                "" if kernel.library == "none" else kernel.library,
                shortened(without_layouts(kernel.shape)),
            )
        )
    if hidden := prediction.kernels[top:]:
        share, seconds = (sum(k.share for k in hidden), sum(k.seconds for k in hidden))
        rest = (f"{share:.1%}", duration(seconds), "", f"{len(hidden)} more")
        rows.append((*rest, *[""] * (len(_KERNELS) - len(rest))))
    return [table(rows, right=(0, 1, 2))]
