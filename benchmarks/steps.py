"""Compares steps of the environment with the passes alone, and with a compile by jaxlib."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

import hlograph
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import Subject, described_by_size, subject
from benchmarks.timing import Call, beside, interleaved, tracked, within
from envs import PassOrderingEnv
from envs.observations import ObservationKind
from hlograph.errors import PassError
from hlograph.execution.bootstrap import Interval
from hlograph.module import Module

TITLE = "Steps of the environment"
_HOOK = "stop-before-codegen"
STEPS = 30
_LABELS: dict[ObservationKind, str] = {"op_counts": "op counts", "graph": "graph"}
_MORE_OF_SMALL = 10  # times as many episodes, for their few microseconds vary the most
_COMPILES = 3  # of one module; each takes as long as thousands of steps


class Episode(NamedTuple):
    """Mean seconds per step of one random episode.

    Attributes:
        env: Through the environment.
        alone: The same passes in the same states, without it.
    """

    env: float
    alone: float


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures steps, reset, fork and replay, size by size."""
    for size in tracked(settings.sizes):
        yield from _steps(subject(size), settings)
        yield from _around_steps(subject(size), settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return described_by_size(settings.sizes)


def random_episode(module: Module, observation: ObservationKind, seed: int) -> Episode:
    """Times one random episode with the environment and without it, step by step.

    The same passes in the same states, whichever comes first; passes that are known to do
    nothing are left out of both. Both pay for the copy that the first change makes.
    """
    env = PassOrderingEnv(module, observation=observation, horizon=STEPS, costs=False, memory=None)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    alone = module.clone()
    seconds = np.zeros(2)
    for step in range(STEPS):
        actions = np.flatnonzero(env.action_masks()[:-1])
        if not len(actions):
            break
        action = int(rng.choice(actions))
        seconds += beside(partial(env.step, action), partial(run_alone, alone, action), step)
    return Episode(*(seconds / STEPS).tolist())


def run_alone(module: Module, action: int) -> None:
    """Runs a pass without any environment; one that XLA refuses changes nothing."""
    try:
        module.run(hlograph.passes[action])
    except PassError:
        return


def _steps(of: Subject, settings: Settings) -> Iterator[Figure]:
    episodes: dict[ObservationKind, list[Episode]] = {kind: [] for kind in _LABELS}
    compiles: list[float] = []
    rounds = settings.rounds * (_MORE_OF_SMALL if of.size < 1_000 else 1)
    with compiles_of(of.module) as compile_once:
        compile_once()
        random_episode(of.module, "graph", settings.seed)
        for number in within(settings.budget, rounds):
            for kind, played in episodes.items():
                played.append(random_episode(of.module, kind, settings.seed + number))
            if number < _COMPILES:
                begin = time.perf_counter()
                compile_once()
                compiles.append(time.perf_counter() - begin)
    for kind, label in _LABELS.items():
        yield from _step_figures(of, label, episodes[kind], compiles)


def _step_figures(
    of: Subject, label: str, episodes: list[Episode], compiles: list[float]
) -> Iterator[Figure]:
    def figure(row: str, values: Iterator[float], unit: str, aim: Aim | None = None) -> Figure:
        return Figure.of(f"{row}, {label}", of.column, Interval.quartiles(values), unit, aim)

    counts = label == _LABELS["op_counts"]
    ratio_aim = Aim(1.2) if counts and of.size >= 1_000 else None
    extra_aim = Aim(20.0) if counts and of.size < 1_000 else None
    faster_aim = Aim(100, at_most=False) if of.size >= 1_000 else None
    yield figure("pass alone", (1e3 * e.alone for e in episodes), "ms")
    yield figure("env step", (1e3 * e.env for e in episodes), "ms")
    yield figure("env step / pass alone", (e.env / e.alone for e in episodes), "x", ratio_aim)
    yield figure(
        "env step minus pass alone", (1e6 * (e.env - e.alone) for e in episodes), "µs", extra_aim
    )
    pairs = zip(compiles, episodes, strict=False)
    yield figure("jaxlib compile / env step", (c / e.env for c, e in pairs), "x", faster_aim)


def _around_steps(of: Subject, settings: Settings) -> Iterator[Figure]:
    """Measures reset, fork and replay."""
    env = PassOrderingEnv(of.module, observation="graph", horizon=STEPS, costs=False)
    env.reset(seed=settings.seed)
    rng = np.random.default_rng(settings.seed)
    for _ in range(STEPS):
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()[:-1]))))
    trajectory = env.trajectory
    other = PassOrderingEnv(of.module, observation="graph", horizon=STEPS, costs=False)
    numbers = [hlograph.passes.names.index(name) for name in trajectory.passes]

    def replay_alone(_: object) -> None:
        module = of.module.clone()
        for number in numbers:
            run_alone(module, number)

    calls = {
        "parse": Call(lambda _: Module.from_text(of.text)),
        "reset": Call(lambda _: other.reset(seed=settings.seed)),
        "fork": Call(lambda _: env.fork()),
        "replay": Call(
            lambda _: other.replay(trajectory), prepare=lambda: other.reset(seed=settings.seed)
        ),
        "alone": Call(replay_alone),
    }
    timings = interleaved(calls, settings.rounds, settings.budget, column=of.column)
    for name in ("reset", "fork"):
        yield timings.ms(f"{name}, graph", name)
        yield timings.times(f"XLA's parser / {name}", "parse", name)
    yield timings.ms(f"replay of {STEPS} steps, graph", "replay")
    yield timings.times("replay / the passes alone, graph", "replay", "alone")


class StopBeforeCodegenError(Exception):
    """Raised inside a compile to end it."""


@contextmanager
def compiles_of(module: Module) -> Iterator[Callable[[], None]]:
    """Yields a function that compiles a module with jaxlib, up to code generation.

    All of XLA:CPU's passes run, those on the way to code generation, too.
    """
    import jax
    from jax.extend import xla
    from jaxlib import _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]

    stablehlo = _jax.mlir.xla_computation_to_mlir_module(
        xla_client.XlaComputation(module.to_proto())
    )
    devices = xla_client.DeviceList(tuple(jax.local_devices()[:1]))
    client = jax.local_devices()[0].client

    def compile_once() -> None:
        try:
            client.compile_and_load(stablehlo, devices, xla_client.CompileOptions())
        except Exception as error:
            if StopBeforeCodegenError.__name__ not in str(error):
                raise
        else:
            raise RuntimeError("the compile was not stopped before code generation")

    stage = xla.PipelineStage.PRE_SCHEDULER
    xla.register_hlo_module_transformation(_stop, name=_HOOK, stage=stage, platforms="cpu")
    try:
        yield compile_once
    finally:
        xla.clear_hlo_module_transformation(name=_HOOK, stage=stage, platforms="cpu")


def _stop(_: bytes) -> None:
    raise StopBeforeCodegenError
