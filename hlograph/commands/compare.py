"""``hlograph compare``: one program under two jaxlibs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Answer, OptionalFile
from hlograph.commands.sources import SourceCommand, SourceName, is_function, stem_of
from hlograph.commands.text_tables import duration, table
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.comparing.comparison import JaxlibComparison
    from hlograph.comparing.kernel_groups import KernelGroup, MatchedKernel
    from hlograph.comparing.timing import TwoTimes
    from hlograph.plans import Measured

# Groups of kernels, and kernels of one side in a group, that the text names; JSON has all.
_MOST_GROUPS, _MOST_KERNELS = 6, 3


@dataclass(frozen=True, kw_only=True)
class Compare(SourceCommand):
    """Compares a program under this jaxlib and that of another Python.

    Both are timed in turns, in processes of their own, and again in fresh ones. Where one of them
    is slower, or the outputs differ, a folder is written that shows it on a small part of the
    program. The exit status is 1 then, and 0 without a difference.
    """

    source: SourceName
    """package.module:function, which each jax lowers itself; or a file with HLO or StableHLO."""
    python: Annotated[str, tyro.conf.arg(name="with", metavar="PYTHON")]
    """The other Python, such as /other/venv/bin/python, which has jax, jaxlib and numpy."""
    environment: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE ...", help_behavior_hint="")
    ] = ()
    """Environment variables of the other Python, such as XLA_FLAGS=--xla_cpu_..."""
    budget: float = 60.0
    """Seconds to look for a flag or rule that makes up for a loss, and again for a small part."""
    store: Annotated[str | None, tyro.conf.arg(metavar="STORE", help_behavior_hint="")] = None
    """Folder of plans, such as the store of another machine, to try first; by default that of the
    user."""
    rounds: int = 3
    """Number of times that both are timed in fresh processes."""
    out: OptionalFile = None
    """Folder that shows the difference; by default NAME.compare, where NAME is that of the
    source."""

    def run(self) -> Answer:
        """Compares; see the class."""
        from hlograph.comparing.comparison import CompareSettings, compare
        from hlograph.comparing.side import Interpreter
        from hlograph.optimization import Store

        known = tuple(Store(self.store).plans())
        settings = CompareSettings(self.rounds, self.budget, known)
        environment = self._variables()
        folder = self.out or Path(f"{stem_of(self.source)}.compare")
        if folder.exists() and not folder.is_dir():
            raise HloError(f"--out: expected a folder, got the file {str(folder)!r}")
        job = self.job_of(self.source, "close")
        function = is_function(self.source)
        with Interpreter("this") as this, Interpreter("other", self.python, environment) as other:
            comparison = compare(
                self.function_of(self.source) if function else job,
                this,
                other,
                settings,
                job.given if function else None,
                lambda sentence: print(f"hlograph compare: {sentence}", file=sys.stderr),
            )
            text, content = text_of(comparison), comparison.to_json()
            if comparison.case is not None:
                comparison.case.write(folder, (this, other), text, content)
                text = f"{text}\n\nwritten to {folder}: {_about(comparison)}"
        written = str(folder) if comparison.case else None
        return Answer(text, content | {"folder": written}, int(comparison.differs))

    def _variables(self) -> dict[str, str]:
        pairs = [text.partition("=") for text in self.environment]
        for (name, equals, _), text in zip(pairs, self.environment, strict=True):
            if not (name and equals):
                raise HloError(f"--environment: expected NAME=VALUE, got {text!r}")
        return {name: value for name, _, value in pairs}


def text_of(comparison: JaxlibComparison) -> str:
    """Returns a comparison as text."""
    labels = comparison.labels
    parts = [
        f"{comparison.name}: {_conclusion(comparison)}",
        _times(comparison),
        f"outputs  {comparison.checks.verdict}: {comparison.checks.reason}",
    ]
    if comparison.lowered:
        rows = [("before optimizations", *labels)]
        rows += [(name, *map(str, counts)) for name, counts in comparison.lowered.items()]
        parts.append(table(rows, right=(1, 2)))
    if comparison.groups:
        parts.append("\n".join(["kernels that make the difference", *_kernels(comparison)]))
    if comparison.times.faster != "neither":
        parts.append(_recovery(comparison))
    return "\n\n".join(parts)


def _conclusion(comparison: JaxlibComparison) -> str:
    labels, faster = comparison.labels, comparison.times.faster
    if faster == "neither":
        wrong = "" if comparison.checks.accepted else ", but the outputs differ"
        return f"neither {labels[0]} nor {labels[1]} is faster in each round{wrong}"
    text = _longer(comparison.times.measured, labels)
    same = comparison.same
    if same is None:
        return text
    if same.faster == faster:
        return f"{text}, also of the same module"
    return f"{text}, and not of the same module: the lowering by jax makes the difference"


def _times(comparison: JaxlibComparison) -> str:
    rows: list[tuple[str, ...]] = [("", *comparison.labels, "ratio", "95 % interval")]
    rows.append(_times_row("as each lowers it" if comparison.same else "run", comparison.times))
    if comparison.same:
        rows.append(_times_row("this one's module", comparison.same))
    measured = comparison.times.measured
    busy = ", on a busy machine" if measured.busy else ""
    control = f"{comparison.labels[0]} against itself, in another process, {measured.control:.3f}"
    return f"{table(rows, right=(1, 2, 3))}\n({measured.pairs} turns; {control}{busy})"


def _times_row(name: str, times: TwoTimes) -> tuple[str, ...]:
    cells = [
        f"{duration(each.value)} ({duration(each.low)} to {duration(each.high)})"
        for each in times.seconds
    ]
    measured = times.measured
    return (name, *cells, f"{measured.ratio:.3f}", f"{measured.low:.3f} to {measured.high:.3f}")


def _kernels(comparison: JaxlibComparison) -> list[str]:
    lines = []
    for group in comparison.groups[:_MOST_GROUPS]:
        first, second = group.seconds
        sign = "+" if second > first else "-"
        times = f"{duration(first)} and {duration(second)} ({sign}{duration(abs(second - first))})"
        lines.append(f"  {times}: {'; '.join(group.reasons) or _kinds(group)}")
        for label, side in zip(comparison.labels, (group.first, group.second), strict=True):
            if side:
                lines.append(f"    {label}: {_named(side)}")
    rest = len(comparison.groups) - _MOST_GROUPS
    return [*lines, f"  and {rest} more"] if rest > 0 else lines


def _kinds(group: KernelGroup) -> str:
    return ", ".join(sorted({each.kernel.kind for each in (*group.first, *group.second)}))


def _named(kernels: tuple[MatchedKernel, ...]) -> str:
    named = [
        f"{each.kernel.name} ({duration(each.kernel.seconds)}, {_calls(each.kernel.calls)})"
        for each in kernels[:_MOST_KERNELS]
    ]
    rest = len(kernels) - _MOST_KERNELS
    return ", ".join(named) + (f", and {rest} more" if rest > 0 else "")


def _calls(number: float) -> str:
    return f"{number:g} call{'' if number == 1 else 's'}"


def _recovery(comparison: JaxlibComparison) -> str:
    slow, fast = comparison.labels
    if comparison.times.faster == "first":
        slow, fast = fast, slow
    recovery = comparison.recovery
    if not comparison.tried:
        return f"under {slow}, no flag and no rule was tried: the budget was too small"
    if recovery is None:
        return f"under {slow}, none of {comparison.tried} flags and rules brings the loss back"
    ratio = recovery.ratio
    back = "the loss" if recovery.is_whole else f"{recovery.share:.0%} of the loss"
    return (
        f"under {slow}, {recovery.words} brings {back} back: {duration(recovery.seconds)}, "
        f"{ratio.value:.3f} times as long as {fast} ({ratio.low:.3f} to {ratio.high:.3f}); "
        f"flags and rules tried: {comparison.tried}"
    )


def _about(comparison: JaxlibComparison) -> str:
    case: Any = comparison.case
    what = "the whole program" if case.is_whole else "a part of the program"
    return f"{what}, of which {_longer(case.measured, comparison.labels)}"


def _longer(measured: Measured, labels: tuple[str, str]) -> str:
    """Returns which of two sides takes longer, with the interval."""
    slow, sign = (labels[0], 1) if measured.ratio >= 1 else (labels[1], -1)
    low, high = sorted((measured.low**sign, measured.high**sign))
    return f"{slow} takes {measured.ratio**sign:.3f} times as long ({low:.3f} to {high:.3f})"
