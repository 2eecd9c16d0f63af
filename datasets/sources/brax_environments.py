"""Environments of brax on its physics pipelines."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from brax import envs
from recipe import Recipe, array

LIBRARY = "brax"


def raw_key() -> Any:
    """Returns an abstract random key as brax takes it: two numbers."""
    return array(2, dtype=jnp.uint32)


def lower_environment(name: str, backend: str, program: str) -> jax.stages.Lowered:
    """Lowers a program of one environment.

    Args:
        name: The environment, a name of `brax.envs`.
        backend: Physics pipeline: `generalized`, `positional`, `spring` or `mjx`.
        program: `reset`; `step`; `batch4-step` (four environments under `vmap`, ended episodes
            begun again); `rollout8` (eight steps in a scan); `grad4` (gradient of the reward of
            four steps with respect to the actions).
    """
    wrapped = program == "batch4-step"
    environment = envs.get_environment(name, backend=backend)
    if wrapped:
        environment = envs.create(name, backend=backend, batch_size=4, episode_length=100)
    reset = environment.reset
    if program == "reset":
        return jax.jit(reset).lower(raw_key())
    state = jax.eval_shape(reset, raw_key())
    action = array(*((4,) if wrapped else ()), environment.action_size)
    if program.endswith("step"):
        return jax.jit(environment.step).lower(state, action)
    count = int(program.removeprefix("rollout").removeprefix("grad"))

    def rollout(state: Any, actions: jax.Array) -> Any:
        def step(state: Any, action: jax.Array) -> Any:
            state = environment.step(state, action)
            return state, (state.obs, state.reward)

        return jax.lax.scan(step, state, actions)

    def reward(actions: jax.Array, state: Any) -> jax.Array:
        return -rollout(state, actions)[1][1].sum()

    actions = array(count, environment.action_size)
    if program.startswith("grad"):
        return jax.jit(jax.value_and_grad(reward)).lower(actions, state)
    return jax.jit(rollout).lower(state, actions)


def environments() -> Iterator[tuple[str, str, str]]:
    """Yields environment, pipeline and program."""
    articulated = ("ant", "halfcheetah", "hopper", "humanoid", "walker2d")
    others = ("inverted_pendulum", "inverted_double_pendulum", "reacher", "pusher")
    for name in (*articulated, *others, "humanoidstandup"):
        yield name, "generalized", "step"
    for name in ("ant", "halfcheetah", "hopper", "humanoid", "walker2d", *others[:3]):
        yield name, "positional", "step"
    for name in ("ant", "hopper", "humanoid", *others):
        yield name, "spring", "step"
    for name, backend in (
        ("ant", "generalized"),
        ("hopper", "positional"),
        ("humanoid", "spring"),
        ("reacher", "generalized"),
        ("pusher", "spring"),
    ):
        yield name, backend, "reset"
    for name, backend in (
        ("inverted_pendulum", "mjx"),
        ("hopper", "mjx"),
        ("ant", "mjx"),
    ):
        yield name, backend, "step"
    for name, backend, program in (
        ("ant", "spring", "batch4-step"),
        ("hopper", "generalized", "batch4-step"),
        ("walker2d", "positional", "batch4-step"),
        ("inverted_pendulum", "generalized", "rollout8"),
        ("halfcheetah", "spring", "rollout8"),
        ("inverted_double_pendulum", "spring", "grad4"),
        ("reacher", "positional", "grad4"),
        ("reacher", "generalized", "grad4"),
    ):
        yield name, backend, program


def recipes() -> Iterator[Recipe]:
    """Yields every environment."""
    for name, backend, program in environments():
        yield Recipe(
            name=f"rigid-body/{name.replace('_', '-')}-{backend}/{program}",
            family="rigid-body",
            library=LIBRARY,
            recipe=f"brax.envs {name}, {backend} pipeline; {program}",
            lower=partial(lower_environment, name, backend, program),
            scope="algorithm",
        )
