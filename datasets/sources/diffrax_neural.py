"""Neural differential equations: fields of equinox, solved by diffrax."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from recipe import Recipe, array
from sources.diffrax_solvers import ADJOINTS, LIBRARY
from tasks import Task, task_recipes


def neural_task(
    kind: str, solver: diffrax.AbstractSolver, adjoint: str, *, batch: int, adaptive: bool
) -> Task:
    """Returns fitting of trajectories by a neural differential equation.

    Args:
        kind: `plain`; `augmented` (zeros added to the state); `latent` (encoded by a GRU first);
            `controlled` (driven by interpolated observations); `flow` (a continuous normalizing
            flow with the exact trace).
        solver: Method of integration.
        adjoint: A key of `ADJOINTS`.
        batch: Trajectories in a batch.
        adaptive: Adaptive steps.
    """
    size, width, count = 2, 16, 8
    inside = {"plain": size, "augmented": size + 2, "latent": 4, "controlled": 6, "flow": size}
    hidden = inside[kind]
    outputs = hidden * size if kind == "controlled" else hidden

    def build(rng: jax.Array) -> Any:
        rngs = jax.random.split(rng, 4)
        return {
            "field": eqx.nn.MLP(hidden, outputs, width, 2, jax.nn.softplus, key=rngs[0]),
            "cell": eqx.nn.GRUCell(size, width, key=rngs[1]),
            "enter": eqx.nn.Linear(width if kind == "latent" else size, hidden, key=rngs[2]),
            "leave": eqx.nn.Linear(hidden, size, key=rngs[3]),
        }

    model = eqx.filter_eval_shape(build, jax.random.PRNGKey(0))
    params, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def integrate(terms: Any, state: Any, times: jax.Array, params: Any) -> Any:
        controller: Any = diffrax.ConstantStepSize()
        if adaptive:
            controller = diffrax.PIDController(rtol=1e-3, atol=1e-6)
        return diffrax.diffeqsolve(
            terms,
            solver,
            times[0],
            times[-1],
            0.1,
            state,
            params,
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=controller,
            adjoint=ADJOINTS[adjoint](),
            max_steps=64,
            throw=False,
        ).ys

    def trajectory(params: Any, times: jax.Array, values: jax.Array) -> jax.Array:
        model = eqx.combine(params, static)
        if kind == "controlled":
            coefficients = diffrax.backward_hermite_coefficients(times, values)
            path = diffrax.CubicInterpolation(times, coefficients)

            def response(_: Any, state: jax.Array, params: Any) -> jax.Array:
                field = eqx.combine(params, static)["field"]
                return jnp.tanh(field(state)).reshape(hidden, size)

            control = diffrax.ControlTerm(response, path)
            states = integrate(control, model["enter"](values[0]), times, params)
            return jax.vmap(model["leave"])(states)
        term = diffrax.ODETerm(lambda t, y, params: eqx.combine(params, static)["field"](y))
        if kind == "latent":
            step = lambda carry, value: (model["cell"](value, carry), None)  # noqa: E731
            summary, _ = jax.lax.scan(step, jnp.zeros(width), values, reverse=True)
            states = integrate(term, model["enter"](summary), times, params)
            return jax.vmap(model["leave"])(states)
        start = values[0]
        if kind == "augmented":
            start = jnp.concatenate([start, jnp.zeros(2)])
        return integrate(term, start, times, params)[:, :size]

    def negative_likelihood(params: Any, times: jax.Array, values: jax.Array) -> jax.Array:
        def augmented(_: Any, state: Any, params: Any) -> Any:
            value, pull = jax.vjp(eqx.combine(params, static)["field"], state[0])
            trace = jnp.trace(jax.vmap(lambda row: pull(row)[0])(jnp.eye(size)))
            return value, trace

        start = (values[-1], jnp.zeros(()))
        ends, changes = integrate(diffrax.ODETerm(augmented), start, times, params)
        return jnp.sum(ends[-1] ** 2) / 2 - changes[-1]

    def loss(params: Any, state: Any, times: jax.Array, values: jax.Array) -> Any:
        if kind == "flow":
            return jax.vmap(negative_likelihood, (None, None, 0))(params, times, values).mean(), {}
        predicted = jax.vmap(trajectory, (None, None, 0))(params, times, values)
        return jnp.mean((predicted - values) ** 2), state

    def forward(params: Any, state: Any, times: jax.Array, values: jax.Array) -> jax.Array:
        if kind == "flow":
            return jax.vmap(negative_likelihood, (None, None, 0))(params, times, values)
        return jax.vmap(trajectory, (None, None, 0))(params, times, values)

    return Task(params, {}, (array(count), array(batch, count, size)), forward, loss)


def recipes() -> Iterator[Recipe]:
    """Yields neural differential equations."""
    programs: list[tuple[str, str, str, bool, dict[str, str]]] = [
        ("plain", "Tsit5", "checkpoint", True, {"train-adam-b4": "train-adam"}),
        ("plain", "Dopri5", "backsolve", True, {"train-adamw-clip-b4": "train-adamw-clip"}),
        ("plain", "Euler", "direct", False, {"grad-b4": "grad"}),
        ("plain", "Kvaerno3", "checkpoint", True, {"grad-b4": "grad"}),
        ("augmented", "Heun", "checkpoint", False, {"loop-adam-b4": "loop-adam"}),
        ("latent", "Tsit5", "checkpoint", False, {"train-adamw-b4": "train-adamw"}),
        ("controlled", "Bosh3", "checkpoint", False, {"train-rmsprop-b4": "train-rmsprop"}),
        ("controlled", "Tsit5", "checkpoint", True, {"forward-b4": "forward"}),
        ("flow", "Midpoint", "checkpoint", False, {"train-adam-b4": "train-adam"}),
        ("flow", "Tsit5", "backsolve", True, {"grad-b4": "grad"}),
    ]
    for kind, solver, adjoint, adaptive, kinds in programs:
        steps = "adaptive" if adaptive else "constant"
        yield from task_recipes(
            "neural-ode",
            LIBRARY,
            f"{kind}-{solver.lower()}-{adjoint}-{steps}",
            f"Neural ODE of equinox, {kind}, diffrax.{solver}, {adjoint} adjoint, {steps} steps",
            partial(
                neural_task,
                kind,
                getattr(diffrax, solver)(),
                adjoint,
                batch=4,
                adaptive=adaptive,
            ),
            kinds,
        )
