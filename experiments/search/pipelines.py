"""Orders of passes for many benchmarks: how they are changed, and how they end.

``experiments.search.fixed_order`` searches for one.
"""

from __future__ import annotations

import gc
import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import hlograph
from experiments.search.space import PassSpace
from experiments.search.task import worker_space
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker, Task
from hlograph import FixedPoint, Pipeline
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_text_atomically

REFERENCE = "xla-simplify"
"""Pipeline that orders are compared with."""
_GROWTH = 3
"""An order that makes a module so many times larger is dropped."""
_PARTS = (1, 3, 1)
_CHANGES = {"insert": 4, "remove": 2, "replace": 2, "move": 2, "vary": 2}
"""Weights with which a part of the order, and the kind of a change, are drawn."""
_STAYS = 0.8
"""Probability that a moved pass stays in its part."""


@dataclass(frozen=True)
class Order:
    """Passes that run once, and two groups of passes that run to a fixed point after them."""

    once: tuple[str, ...]
    """Names of the passes that run once."""
    first: tuple[str, ...]
    """Names of those of the first fixed point."""
    second: tuple[str, ...]
    """Names of those of the second fixed point; none is none."""

    @classmethod
    def of(cls, pipeline: Pipeline) -> Order:
        """Returns the order of a pipeline that is one fixed point."""
        (group,) = pipeline.steps
        assert isinstance(group, FixedPoint)
        return cls((), tuple(entry.name for entry in group.steps), ())

    @classmethod
    def load(cls, path: Path) -> Order:
        """Reads an order that ``save`` wrote.

        Raises:
            ValueError: The file holds no order.
            OSError: It cannot be read.
        """
        try:
            content = json.loads(path.read_text())
            return cls(*(tuple(content[name]) for name in ("once", "first", "second")))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path} holds no order: expected an object of lists of passes named once, first "
                f"and second ({error!r})"
            ) from None

    def save(self, path: Path) -> None:
        """Writes it as JSON."""
        write_text_atomically(path, json.dumps(asdict(self), indent=2) + "\n")

    def pipeline(self, name: str = "order") -> Pipeline:
        """Returns it as a pipeline.

        Raises:
            UnknownNameError: The registry lacks one of its passes.
        """
        once, *loops = (
            tuple(hlograph.passes[name] for name in part)
            for part in (self.once, self.first, self.second)
        )
        groups = tuple(FixedPoint(steps) for steps in loops if steps)
        return Pipeline(name, "order found by search", (*once, *groups))

    def __str__(self) -> str:
        once, first, second = map(" ".join, (self.once, self.first, self.second))
        return f"{once} ({first}) ({second})"

    def variant(self, candidates: Sequence[str], generator: random.Random) -> Order:
        """Returns the order with one change or two.

        A change is a pass more, one less, another, one elsewhere, or other options of an XLA pass
        wherever the order has it.

        Args:
            candidates: Names of the passes to insert.
            generator: Draws the changes.
        """
        parts = [list(self.once), list(self.first), list(self.second)]
        for _ in range(generator.choice((1, 1, 2))):
            (part,) = generator.choices(parts, _PARTS)
            (change,) = generator.choices(list(_CHANGES), list(_CHANGES.values()))
            if change == "insert" or not part:
                part.insert(generator.randint(0, len(part)), generator.choice(candidates))
                continue
            place = generator.randrange(len(part))
            if change == "vary":
                _vary(parts, part[place], candidates, generator)
                continue
            name = part.pop(place)
            if change == "replace":
                part.insert(place, generator.choice(candidates))
            elif change == "move":
                target = part if generator.random() < _STAYS else generator.choice(parts)
                target.insert(generator.randint(0, len(target)), name)
        return Order(*map(tuple, parts)) if parts[1] else self


def _vary(
    parts: list[list[str]], name: str, candidates: Sequence[str], generator: random.Random
) -> None:
    """Gives an XLA pass other options wherever it is: one place left as it was may undo it."""
    xla_name = name.split(":")[0]
    options = [entry for entry in candidates if entry.split(":")[0] == xla_name]
    drawn = generator.choice(options or [name])
    for part in parts:
        part[:] = [drawn if entry.split(":")[0] == xla_name else entry for entry in part]


@dataclass(frozen=True)
class End:
    """Describes how a pipeline ends on a benchmark."""

    op_count: int
    calls: int
    """Pass calls that it made."""


@dataclass(frozen=True)
class RunPipelines(Task):
    """Runs several pipelines on one benchmark; steps that they have in common run once."""

    benchmark: str
    pipelines: tuple[Pipeline, ...]

    def do(self, worker: RolloutWorker) -> list[End | None]:
        """Returns how each pipeline ends; None for one that makes the module too large."""
        space = worker_space(self, worker, self.benchmark)
        ends = [_end(space, pipeline) for pipeline in self.pipelines]
        del space  # its states hold each other
        gc.collect()
        return ends


def _end(space: PassSpace, pipeline: Pipeline) -> End | None:
    """Returns how a pipeline ends; None if it makes the module too large."""
    steps, node, changed, calls = pipeline.calls(), space.root, None, 0
    while (entry := steps.send(changed)) is not None:
        before, node = node, space.step(node, entry.index)
        changed, calls = node is not before, calls + 1
        if node.op_count > _GROWTH * space.root.op_count:
            return None
    return End(node.op_count, calls)


@dataclass(frozen=True)
class Score:
    """Compares an order with xla-simplify on all benchmarks."""

    log: float
    """Mean over the benchmarks of the logarithm of xla-simplify's op count over the order's."""
    worst: float
    """Least such logarithm."""
    lost: float
    """Mean over the benchmarks of the logarithm's amount below 0; 0 where it is above."""
    calls: float
    """Mean over the benchmarks of its calls over those of xla-simplify."""

    def worth(self, call_cost: float, loss_cost: float) -> float:
        """Returns what the search maximizes; see ``FixedOrderConfig``."""
        return self.log - call_cost * self.calls - loss_cost * self.lost

    def __str__(self) -> str:
        return (
            f"xla-simplify / left {math.exp(self.log):.4f}, worst {math.exp(self.worst):.3f}, "
            f"calls {self.calls:.2f}"
        )


class Scorer:
    """Runs orders on benchmarks, and compares them with xla-simplify.

    Args:
        runner: Runs the tasks.
        names: The benchmarks. Those that cost xla-simplify its worker are left out.
    """

    def __init__(self, runner: TaskRunner, names: Sequence[str]) -> None:
        self._runner = runner
        pipeline = hlograph.pipelines[REFERENCE]
        self._base = {
            name: results[0]
            for name, results in zip(names, self._ends(names, [pipeline]), strict=True)
            if results[0] is not None
        }

    def __len__(self) -> int:
        return len(self._base)

    def __call__(self, orders: Sequence[Order]) -> list[Score | None]:
        """Returns the score of each order; None for one that a benchmark does not bear."""
        ends = self._ends(list(self._base), [order.pipeline() for order in orders])
        return [self._score([results[n] for results in ends]) for n in range(len(orders))]

    def _ends(self, names: Sequence[str], pipelines: Sequence[Pipeline]) -> list[list[End | None]]:
        """Returns how each pipeline ends on each benchmark; [benchmarks][pipelines]."""
        tasks = [RunPipelines(benchmark=name, pipelines=tuple(pipelines)) for name in names]
        results = self._runner.run(tasks, "a run of orders", keep_losses=True, progress="orders")
        lost: list[End | None] = [None] * len(pipelines)
        return [lost if isinstance(each, HloError) else each for each in results]

    def _score(self, ends: Sequence[End | None]) -> Score | None:
        logs, calls = [], []
        for base, end in zip(self._base.values(), ends, strict=True):
            if end is None:
                return None
            logs.append(math.log(base.op_count / end.op_count))
            calls.append(end.calls / base.calls)
        lost = fmean(max(0.0, -log) for log in logs)
        return Score(fmean(logs), min(logs), lost, fmean(calls))
