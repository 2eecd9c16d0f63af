"""Measures listing rewrites: anew, after a rewrite, and as a step of an environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import Subject, described_by_size, subject
from benchmarks.timing import Call, Timings, beside, interleaved, tracked, within
from envs import RewriteEnv
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
    return described_by_size(settings.rewrite_sizes)


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

    def rewritten(place: str) -> None:
        alone.apply(place)
        alone.rewrites()

    seconds, done = np.zeros(2), 0
    while done < STEPS and env.candidates:
        action = int(rng.integers(len(env.candidates)))
        place = env.candidates[action].place
        seconds += beside(partial(env.step, action), partial(rewritten, place), done)
        done += 1
    with_env, without = (seconds / max(1, done)).tolist()
    return with_env, without


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
    timings = interleaved(calls, settings.rounds, settings.budget, column=of.column)
    ms, ratio = timings.ms, timings.times
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
    pairs = [
        seconds_of_steps(of.module, settings.seed + 1 + number)
        for number in within(settings.budget, settings.rounds)
    ]
    env, alone = map(list, zip(*pairs, strict=True))
    timings = Timings({"env": env, "alone": alone}, of.column)
    yield timings.ms("env step with a listing", "env")
    yield timings.times("env step / apply a rewrite and list", "env", "alone")
