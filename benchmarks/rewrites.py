"""Measures listing rewrites: anew, after a rewrite, and as a step of an environment."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.progress import tracked
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import Subject, subject
from benchmarks.timing import Call, interleaved
from envs import RewriteEnv
from hlograph.execution.bootstrap import Interval
from hlograph.execution.turns import without_collector
from hlograph.module import Module
from hlograph.transforms.rewriting import Rewrite, find_rewrites
from hlograph.transforms.sweeping import sweep

TITLE = "Listing rewrites"
STEPS = 10
_RULE = ["algebraic"]
_LISTING_AIM = Aim(100.0)  # milliseconds, of one rule at the largest size


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures listings, what applies one, and steps, size by size."""
    for size in tracked(settings.rewrite_sizes):
        aim = _LISTING_AIM if size == max(settings.rewrite_sizes) else None
        yield from _listings(subject(size), settings, aim)
        yield from _steps(subject(size), settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return {subject(size).column: subject(size).description for size in settings.rewrite_sizes}


class Rewritten:
    """Makes copies of a module whose rewrites are listed, each with another rewrite applied.

    Args:
        module: The module; it is not changed.
        seed: Draws the rewrites, each rule as likely.
    """

    def __init__(self, module: Module, seed: int) -> None:
        self._module = module.clone()
        self._by_rule: dict[str, list[Rewrite]] = {}
        for rewrite in self._module.rewrites():
            self._by_rule.setdefault(rewrite.rule, []).append(rewrite)
        self._random = np.random.default_rng(seed)

    def draw(self) -> tuple[Module, Rewrite]:
        """Returns the next copy, and the rewrite to apply to it."""
        offered = self._by_rule[str(self._random.choice(sorted(self._by_rule)))]
        return self._module.clone(), offered[int(self._random.integers(len(offered)))]

    def next(self) -> Module:
        """Returns the next copy, rewritten."""
        module, rewrite = self.draw()
        module.apply(rewrite)
        return module


def seconds_of_steps(module: Module, seed: int) -> tuple[float, float]:
    """Times random steps, and the same rewrites and listings without the environment.

    Returns:
        Seconds of a step on average, with the environment and without it.
    """
    env = RewriteEnv(module, horizon=STEPS, costs=False)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    alone = module.clone()
    seconds, done = {True: 0.0, False: 0.0}, 0
    while done < STEPS and env.candidates:
        action = int(rng.integers(len(env.candidates)))
        place = env.candidates[action].place
        for with_env in (done % 2 == 0, done % 2 == 1):
            start = time.perf_counter()
            if with_env:
                env.step(action)
            else:
                alone.apply(place)
                alone.rewrites()
            seconds[with_env] += time.perf_counter() - start
        done += 1
    return seconds[True] / max(1, done), seconds[False] / max(1, done)


def _listings(of: Subject, settings: Settings, aim: Aim | None) -> Iterator[Figure]:
    module = of.module
    changed = module.clone()
    changed.run("dce")
    listed = module.clone()
    listed.rewrites()
    # Each turn of both goes to the same states.
    again, anew, applied = (Rewritten(module, settings.seed) for _ in range(3))
    calls = {
        "clone": Call(lambda _: changed.clone()),
        "rule": Call(lambda _: find_rewrites(module._native, _RULE, reuse=False)),
        "alone": Call(lambda _: find_rewrites(module._native, _RULE, shared_copies=False)),
        "all": Call(lambda _: find_rewrites(module._native, None, reuse=False)),
        "again": Call(lambda ready: ready.rewrites(), prepare=again.next),
        "anew": Call(
            lambda ready: find_rewrites(ready._native, None, reuse=False), prepare=anew.next
        ),
        "apply": Call(lambda drawn: drawn[0].apply(drawn[1]), prepare=applied.draw),
        "sweep": Call(lambda ready: ready.sweep(_RULE[0]), prepare=listed.clone),
        "one by one": Call(lambda ready: sweep(ready, _RULE[0]), prepare=listed.clone),
    }
    found = interleaved(calls, settings.rounds, settings.budget)

    def ms(what: str, name: str, aim: Aim | None = None) -> Figure:
        return Figure.of(what, of.column, found.of(name, 1e3), "ms", aim)

    def ratio(what: str, name: str, over: str) -> Figure:
        return Figure.of(what, of.column, found.ratio(name, over), "x")

    yield ms("clone of the module", "clone")
    yield ms("listing of the rule algebraic", "rule", aim)
    yield ratio("listing with a clone for each rewrite / with shared copies", "alone", "rule")
    yield ms("listing of all rules", "all")
    yield ms("listing of all rules after a rewrite", "again")
    yield ratio("new listing / listing after a rewrite", "anew", "again")
    yield ms("apply a rewrite", "apply")
    yield ratio("apply a rewrite / clone of the module", "apply", "clone")
    yield ms("sweep of the rule algebraic", "sweep")
    yield ratio("rewrites of its places one at a time / sweep", "one by one", "sweep")


def _steps(of: Subject, settings: Settings) -> Iterator[Figure]:
    seconds_of_steps(of.module, settings.seed)
    found: list[tuple[float, float]] = []
    with without_collector():
        start = time.perf_counter()
        for number in range(settings.rounds):
            if number >= 2 and time.perf_counter() - start > settings.budget:
                break
            found.append(seconds_of_steps(of.module, settings.seed + 1 + number))
    yield Figure.of(
        "env step with a listing",
        of.column,
        Interval.quartiles(1e3 * env for env, _ in found),
        "ms",
    )
    yield Figure.of(
        "env step / apply a rewrite and list",
        of.column,
        Interval.quartiles(env / alone for env, alone in found),
        "x",
    )
