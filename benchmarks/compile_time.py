"""Measures how long jaxlib compiles large programs, as they are and after passes and a rule."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

import hlograph
from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.speed_rules.measuring import plan_of_rules
from benchmarks.timing import tracked
from experiments.evaluate.evaluation import run_pipeline
from hlograph import corpus
from hlograph.execution import lock
from hlograph.execution.bootstrap import Interval
from hlograph.execution.runs import Run
from hlograph.execution.turns import in_turns
from hlograph.measuring.samples import Samples
from hlograph.plans import Plan, Program, compile_program

TITLE = "Compilation of large programs"

DEFAULT, SIMPLIFIED, PLAYED, STORED = "default", "xla-simplify", "GNN", "stored-shared-sum"
PROGRAMS = (
    "bert/l6-h384-a6-qa/train-adamw-clip-b1-s128-dropout-rbg",
    "gpt2/l6-h384-a6/train-adamw-clip-b2-s64",
    "lstm/haiku-unrolled-h256-b4-s32/train-sgdm",
    "rigid-body/ant-spring/b32-t4",
    "vit/keras-hub-deit-l6-h192-160px/train-adamw-clip-b2",
)
"""Programs of the speed set, of the train and validation splits."""
LAYERS = (6, 12)
"""Layers of transformers whose training step is written out."""

_LEAST = 3  # repeats
_WIDTH, _HEADS, _TOKENS = 128, 4, 64
_STEPS = 100  # of an episode of the policy


def measure(settings: Settings) -> Iterator[Figure]:
    """Compiles each program in turns, and runs it."""
    written = {f"transformer of {layers} layers, training": layers for layers in LAYERS}
    for name in tracked([*PROGRAMS, *written]):
        if name in written:
            program = Program.of(lowered_step(written[name]))
        else:
            program = Program.of(corpus.benchmark(name).load())
        yield from _of_program(name, program, settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    del settings
    return {
        DEFAULT: "the program as it is, compiled by jaxlib",
        SIMPLIFIED: "after the passes of that order",
        PLAYED: "after the passes of an episode of the policy `gnn`",
        STORED: "after that rule, at all of its places",
        "all": "the steps are a part of the seconds; float32; transformers of width 128, 4 heads, "
        "2 times 64 tokens",
    }


def _of_program(name: str, program: Program, settings: Settings) -> Iterator[Figure]:
    plans = plans_of(program)
    executables: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {column: [] for column in plans}
    for _ in range(max(_LEAST, settings.rounds // 2)):
        for column, plan in plans.items():
            begun = time.perf_counter()
            executables[column] = compile_program(program, plan)
            seconds[column].append(time.perf_counter() - begun)
    inputs = Samples(program, None, 0).usual[0].inputs
    runs = [Run(executable, inputs, program.donated) for executable in executables.values()]
    with lock.alone():
        times = in_turns(
            [run.seconds for run in runs],
            turns=2 * settings.rounds,
            block_seconds=0.02,
            max_seconds=settings.budget,
            least=_LEAST,
        ).seconds
    for number, column in enumerate(plans):
        yield Figure.of(name, column, Interval.quartiles(seconds[column]), "s")
        if number:
            pairs = zip(seconds[DEFAULT], seconds[column], strict=True)
            ratio = Interval.of_median([default / other for default, other in pairs])
            yield Figure.of(f"{name}, default / this", column, ratio, "x")
            ratio = Interval.of_median((times[:, 0] / times[:, number]).tolist())
            yield Figure.of(f"{name}, a run, default / this", column, ratio, "x")


def plans_of(program: Program) -> dict[str, Plan]:
    """Returns the plan of each column."""
    simplified, _ = run_pipeline(program.module(), "xla-simplify")
    return {
        DEFAULT: Plan(),
        SIMPLIFIED: Plan(program.name, program.fingerprint, simplified, numerics="close"),
        PLAYED: Plan(
            program.name, program.fingerprint, _played(program.module()), numerics="close"
        ),
        STORED: plan_of_rules(program, (STORED,)),
    }


def _played(module: hlograph.Module) -> tuple[str, ...]:
    """Returns the passes of an episode of the policy that changed a module."""
    from experiments.policies.explored import load_player

    moves = load_player("gnn").play(module, (), _STEPS)
    return tuple(move.step.name for move in moves if move.step.changed)


def lowered_step(layers: int) -> jax.stages.Lowered:
    """Returns the training step of a transformer whose layers are written out.

    Layer normalisation subtracts the mean twice, as formulas of it do.

    Args:
        layers: Number of its layers.
    """

    def normalised(state: jax.Array, scale: jax.Array) -> jax.Array:
        mean = state.mean(-1, keepdims=True)
        variance = ((state - mean) ** 2).mean(-1, keepdims=True)
        return (state - mean) * jax.lax.rsqrt(variance + 1e-5) * scale

    def layer(weights: dict[str, jax.Array], state: jax.Array) -> jax.Array:
        inside = normalised(state, weights["first scale"])
        heads = (*state.shape[:2], _HEADS, _WIDTH // _HEADS)
        query, key, value = ((inside @ weights[name]).reshape(heads) for name in "qkv")
        attended = jax.nn.dot_product_attention(query, key, value, is_causal=True)
        state = state + attended.reshape(state.shape) @ weights["o"]
        inside = normalised(state, weights["second scale"])
        return state + jax.nn.gelu(inside @ weights["up"]) @ weights["down"]

    def loss(weights: list[dict[str, jax.Array]], state: jax.Array) -> jax.Array:
        for of_layer in weights:
            state = layer(of_layer, state)
        return jnp.square(state).mean()

    def step(weights: list[dict[str, jax.Array]], state: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, state)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)

    def given(*sizes: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(sizes, jnp.float32)

    of_layer = {name: given(_WIDTH, _WIDTH) for name in "qkvo"}
    of_layer |= {"first scale": given(_WIDTH), "second scale": given(_WIDTH)}
    of_layer |= {"up": given(_WIDTH, 4 * _WIDTH), "down": given(4 * _WIDTH, _WIDTH)}
    return jax.jit(step).lower([of_layer] * layers, given(2, _TOKENS, _WIDTH))
