"""Rigid bodies of brax and MuJoCo XLA, many side by side, some steps in a scan."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
from brax import envs
from mujoco import mjx
from recipe import Recipe, array
from sources.mjx_simulation import load

LIBRARY = "brax"
FAMILY = "rigid-body"


def lower_rollout(name: str, backend: str, batch: int, steps: int) -> jax.stages.Lowered:
    """Lowers the reset of environments of brax and some steps of each.

    Args:
        name: The environment.
        backend: Physics pipeline.
        batch: Environments under `vmap`.
        steps: Length of the scan.
    """
    environment = envs.get_environment(name, backend=backend)

    def rollout(rng: jax.Array, actions: jax.Array) -> Any:
        def step(state: Any, action: jax.Array) -> Any:
            state = environment.step(state, action)
            return state, (state.obs, state.reward)

        return jax.lax.scan(step, environment.reset(rng), actions)[1]

    several = jax.vmap(rollout)
    actions = array(batch, steps, environment.action_size)
    return jax.jit(several).lower(array(batch, 2, dtype="uint32"), actions)


def lower_bodies(bodies: str, batch: int, steps: int) -> jax.stages.Lowered:
    """Lowers steps of MuJoCo XLA from speeds and under controls that vary between the copies.

    Args:
        bodies: A name of `sources.mjx_simulation`.
        batch: Copies under `vmap`.
        steps: Length of the scan.
    """
    model, data = load(bodies, 'solver="Newton" iterations="2" ls_iterations="4"')

    def rollout(speeds: jax.Array, controls: jax.Array) -> Any:
        def step(data: Any, control: jax.Array) -> Any:
            data = mjx.step(model, data.replace(ctrl=control))
            return data, data.qpos

        return jax.lax.scan(step, data.replace(qvel=0.1 * speeds), controls)[1]

    arguments = (array(batch, model.nv), array(batch, steps, model.nu))
    return jax.jit(jax.vmap(rollout)).lower(*arguments)


def recipes() -> Iterator[Recipe]:
    """Yields the rollouts."""
    programs: list[tuple[str, str, Callable[[], jax.stages.Lowered]]] = []
    for name, backend, batch, steps in (
        ("ant", "spring", 32, 4),
        ("hopper", "positional", 32, 4),
        ("halfcheetah", "generalized", 16, 4),
        ("inverted_pendulum", "generalized", 128, 20),
    ):
        label = f"{name.replace('_', '-')}-{backend}/b{batch}-t{steps}"
        programs.append((label, "brax", partial(lower_rollout, name, backend, batch, steps)))
    for bodies, batch, steps in (("pendulum", 64, 20), ("cartpole", 32, 20)):
        label = f"mjx-{bodies}/b{batch}-t{steps}"
        programs.append((label, "mujoco-mjx", partial(lower_bodies, bodies, batch, steps)))
    for label, library, lower in programs:
        yield Recipe(
            name=f"{FAMILY}/{label}",
            family=FAMILY,
            library=library,
            recipe=f"{library} {label.replace('/', ', ')}: reset and steps in a scan",
            lower=lower,
            scope="algorithm",
        )
