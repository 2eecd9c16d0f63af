"""What a fuzz campaign visits, in which order, and what it has seen."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hlograph.corpus import Benchmark
from tests.campaigns.passes.records import Visit, VisitResult, WalkRecord

_RARELY = 1_500  # instructions from which loading costs more than walking
_MOST_ROUNDS = 4


@dataclass
class Coverage:
    """Which passes met a module of which opcode set.

    Attributes:
        seen: By the bit mask of the opcode set, the bit mask of the passes' numbers.
    """

    seen: dict[int, int] = field(default_factory=dict)

    def add(self, seen: Mapping[int, int]) -> None:
        """Adds what a visit saw."""
        for opcodes, met in seen.items():
            self.seen[opcodes] = self.seen.get(opcodes, 0) | met

    @property
    def pairs(self) -> int:
        """Pairs of a pass and an opcode set."""
        return sum(met.bit_count() for met in self.seen.values())


class Plan:
    """Rounds over the benchmarks, without end.

    A round visits each benchmark once (those that are large: in one round of up to four) in
    an order of its own. The visits of a round know the opcode sets that rounds before it met
    in walks from the same benchmark, with all passes that met them in walks from any. So what
    is walked depends on the seed alone, and not on the number of workers or on who is first.

    Args:
        benchmarks: What to visit.
        seed: Of the campaign.
    """

    def __init__(self, benchmarks: list[Benchmark], seed: int) -> None:
        self._benchmarks, self._seed = benchmarks, seed
        self.coverage = Coverage()
        self._met: dict[str, set[int]] = {b.name: set() for b in benchmarks}
        self._records: dict[str, list[WalkRecord]] = {b.name: [] for b in benchmarks}

    def round(self, number: int) -> Iterator[Visit]:
        """The visits of a round; all of the round before must have been added."""
        order = random.Random(f"{self._seed}/{number}")
        due = [
            benchmark
            for index, benchmark in enumerate(self._benchmarks)
            if (number + index) % _rounds_between(benchmark.op_count) == 0
        ]
        order.shuffle(due)
        visits = []
        for benchmark in due:
            name = benchmark.name
            seen = {opcodes: self.coverage.seen[opcodes] for opcodes in self._met[name]}
            replays, self._records[name] = tuple(self._records[name]), []
            visits.append(Visit(name, f"{self._seed}/{number}/{name}", seen, replays))
        return iter(visits)

    def add_round(self, results: list[tuple[Visit, VisitResult]]) -> list[WalkRecord]:
        """Adds what the visits of a round saw.

        Returns:
            Walks to be repeated in a fresh interpreter, one of each visit that has one;
            another walk of the visit is repeated in the next round.
        """
        fresh = []
        for visit, result in results:
            self.coverage.add(result.seen)
            self._met[visit.benchmark] |= result.seen.keys()
            self._records[visit.benchmark] += result.records[1:2]
            fresh += result.records[:1]
        return fresh


def _rounds_between(op_count: int) -> int:
    return max(1, min(_MOST_ROUNDS, op_count // _RARELY))
