"""Order in which a pass campaign visits the modules, and what it has seen."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from hlograph.corpus import Benchmark
from tests.campaigns.passes.records import Visit, VisitResult, WalkRecord

_RARELY = 1_500  # instructions from which loading takes longer than walking
_MOST_ROUNDS = 4


def add_seen(seen: dict[int, int], other: Mapping[int, int]) -> None:
    """Adds pairs of pass and opcode set to others; both as in `Visit.seen`."""
    for opcodes, met in other.items():
        seen[opcodes] = seen.get(opcodes, 0) | met


class Plan:
    """Endless rounds over the modules.

    A round visits each module once (a large one in every second to fourth round) in its own random
    order. A visit knows the opcode sets that earlier rounds met in walks from the same module, with
    all passes that ran on them in walks from any module. The walks therefore depend on the seed
    alone, not on the number of workers or their speed.

    Args:
        benchmarks: The modules.
        seed: Seed of the campaign.

    Attributes:
        seen: Passes that ran on a module of an opcode set, as in `Visit.seen`.
    """

    def __init__(self, benchmarks: Sequence[Benchmark], seed: int) -> None:
        self._benchmarks, self._seed = benchmarks, seed
        self.seen: dict[int, int] = {}
        self._met: dict[str, set[int]] = defaultdict(set)
        self._records: dict[str, tuple[WalkRecord, ...]] = {}

    def round(self, number: int) -> list[Visit]:
        """Returns the visits of a round; the results of the round before must have been added."""
        visits = []
        for index, benchmark in enumerate(self._benchmarks):
            if (number + index) % _rounds_between(benchmark.op_count) == 0:
                name = benchmark.name
                seen = {opcodes: self.seen[opcodes] for opcodes in self._met[name]}
                replays = self._records.pop(name, ())
                visits.append(Visit(name, f"{self._seed}/{number}/{name}", seen, replays))
        random.Random(f"{self._seed}/{number}").shuffle(visits)
        return visits

    def add_round(self, results: Sequence[tuple[Visit, VisitResult]]) -> list[WalkRecord]:
        """Adds the results of a round.

        Returns:
            The first walk of each visit, to be repeated in a fresh interpreter. The second is
            repeated in the next round.
        """
        fresh = []
        for visit, result in results:
            add_seen(self.seen, result.seen)
            self._met[visit.benchmark] |= result.seen.keys()
            self._records[visit.benchmark] = tuple(result.records[1:2])
            fresh += result.records[:1]
        return fresh


def _rounds_between(op_count: int) -> int:
    return max(1, min(_MOST_ROUNDS, op_count // _RARELY))
