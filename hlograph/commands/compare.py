"""``hlograph compare``: one program under two jaxlibs, or the stores of two machines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Answer, OptionalFile
from hlograph.commands.sources import SourceCommand, is_function, stem_of
from hlograph.commands.text_tables import counted, duration, table
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.comparing.comparison import JaxlibComparison
    from hlograph.comparing.kernel_groups import KernelGroup, MatchedKernel
    from hlograph.comparing.stores import StoreComparison, StoredPair
    from hlograph.comparing.timing import TwoTimes
    from hlograph.plans import Measured, Plan

# Groups of kernels, and kernels of one side in a group, that the text names; JSON has all.
_MOST_GROUPS, _MOST_KERNELS = 6, 3

# Names of two stores.
_STORES = ("first", "second")


@dataclass(frozen=True, kw_only=True)
class Compare(SourceCommand):
    """Compares a program under this jaxlib and that of another Python, or two stores of plans.

    With a Python, both are timed in turns, in processes of their own, and again in fresh ones.
    Where one of them is slower, or the outputs differ, a folder is written that shows it on a small
    part of the program. With a store, what both have measured is shown, and nothing runs. The exit
    status is 1 if there is a difference in time or outputs, and 0 otherwise.
    """

    source: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")] = None
    """package.module:function, which each jax lowers itself; or a file with HLO or StableHLO. With
    a store, it may be left out: all programs are compared that both stores have."""
    other: Annotated[str, tyro.conf.arg(name="with", metavar="PYTHON|STORE")]
    """The other Python, such as /other/venv/bin/python, which has jax, jaxlib and numpy; or the
    folder of plans of another machine."""
    environment: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE ...", help_behavior_hint="")
    ] = ()
    """Environment variables of the other Python, such as XLA_FLAGS=--xla_cpu_..."""
    budget: float = 60.0
    """Seconds to look for a flag or rule that makes up for a loss, and again for a small part."""
    store: Annotated[str | None, tyro.conf.arg(metavar="STORE", help_behavior_hint="")] = None
    """Folder of plans: those to try first, or to compare with another store; by default that of the
    user."""
    rounds: int = 3
    """Number of times that both are timed in fresh processes."""
    out: OptionalFile = None
    """Folder that shows the difference; by default NAME.compare, where NAME is that of the
    source."""

    def run(self) -> Answer:
        """Compares; see the class."""
        if Path(self.other).is_dir():
            return self._of_stores()
        if self.source is None:
            raise HloError("expected a SOURCE to compare, a function or a file, got none")
        return self._of_jaxlibs(self.source)

    def _of_stores(self) -> Answer:
        from hlograph.comparing.stores import compare_stores
        from hlograph.optimization import Store
        from hlograph.optimization.cache import CacheKey

        stores = Store(self.store), Store(self.other)
        keys = None if self.source is None else CacheKey.all_of(self.job_of(self.source, "close"))
        comparison = compare_stores(*stores, keys)
        places = [str(store.location) for store in stores]
        text = text_of_stores(comparison, places)
        return Answer(text, {"stores": places} | comparison.to_json(), int(comparison.differs))

    def _of_jaxlibs(self, source: str) -> Answer:
        from hlograph.comparing.comparison import CompareSettings, compare
        from hlograph.comparing.side import Interpreter
        from hlograph.optimization import Store

        known = tuple(Store(self.store).plans())
        settings = CompareSettings(self.rounds, self.budget, known)
        environment = self._variables()
        folder = self.out or Path(f"{stem_of(source)}.compare")
        if folder.exists() and not folder.is_dir():
            raise HloError(f"--out: expected a folder, got the file {str(folder)!r}")
        job = self.job_of(source, "close")
        function = is_function(source)
        with Interpreter("this") as this, Interpreter("other", self.other, environment) as other:
            comparison = compare(
                self.function_of(source) if function else job,
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


def text_of_stores(comparison: StoreComparison, places: Sequence[str]) -> str:
    """Returns a comparison of two stores as text.

    Args:
        comparison: The comparison.
        places: Where the stores are.
    """
    parts = ["\n".join(f"{name}: {place}" for name, place in zip(_STORES, places, strict=True))]
    if comparison.pairs:
        machines = _machines(comparison)
        parts.append(_stored_times(comparison, machines))
        parts.append("\n".join(f"{label}  {name}" for name, label in machines.items()))
    apart = [line for pair in comparison.pairs if pair.differs for line in _apart(pair)]
    if apart:
        parts.append("\n".join(["where they part", *apart]))
    first, second = map(len, comparison.alone)
    both = counted(len({pair.name for pair in comparison.pairs}), "program")
    parts.append(f"{both} in both stores; {first} in the first alone, {second} in the second alone")
    return "\n\n".join(parts)


def _machines(comparison: StoreComparison) -> dict[str, str]:
    """Returns a letter for each machine of a comparison."""
    names = dict.fromkeys(_machine_of(plan) for pair in comparison.pairs for plan in pair.plans)
    return {name: chr(ord("A") + number) for number, name in enumerate(names)}


def _machine_of(plan: Plan) -> str:
    return str(plan.machine) if plan.machine else "not known"


def _stored_times(comparison: StoreComparison, machines: dict[str, str]) -> str:
    """Returns a table with a row for each plan of each program."""
    from hlograph.comparing.stores import gain_of

    rows: list[tuple[str, ...]] = [
        ("program", "results", "store", "machine", "default", "plan", "ratio", "95 % interval")
    ]
    for pair in comparison.pairs:
        for store, plan in zip(_STORES, pair.plans, strict=True):
            measured, gain = plan.measured, gain_of(plan)
            times = (measured.default_seconds, measured.seconds) if measured else ()
            cells = [duration(seconds) for seconds in times] or ["-", "-"]
            if gain is None:
                cells += ["-", "-"]
            else:
                low_high = f"{gain.low:.3f} to {gain.high:.3f}"
                cells += [f"{gain.value:.3f}", "default kept" if plan.is_empty else low_high]
            is_first = store == _STORES[0]
            about = (pair.name, pair.numerics) if is_first else ("", "")
            rows.append((*about, store, machines[_machine_of(plan)], *cells))
    return table(rows, right=(4, 5, 6))


def _apart(pair: StoredPair) -> list[str]:
    """Returns in what the plans of a program part."""
    lines = [f"  {pair.name}: {'the gains differ' if pair.gains_differ else 'the plans differ'}"]
    if pair.default_ratio is not None:
        times = f"{pair.default_ratio:.3f} times as long"
        lines.append(f"    the default takes {times} on the second's machine")
    for store, decisions in zip(_STORES, pair.decisions_apart, strict=True):
        lines += [f"    {store} alone: {decision}" for decision in decisions]
    return lines
