"""Markov chain Monte Carlo by numpyro: a transition, a chain, and chains side by side."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
from numpyro.infer import (
    AIES,
    ESS,
    HMC,
    HMCECS,
    NUTS,
    SA,
    BarkerMH,
    init_to_feasible,
    init_to_median,
    init_to_sample,
    init_to_uniform,
    init_to_value,
)
from recipe import Recipe, key
from sources.numpyro_models import LIBRARY, MIXTURES, Model
from sources.numpyro_regressions import REGRESSIONS, SUBSAMPLED
from sources.numpyro_series import SERIES

MODELS: dict[str, Model] = {
    **MIXTURES,
    **REGRESSIONS,
    **SERIES,
    "logistic-subsampled": SUBSAMPLED,
}
"""Every model that inference is made on."""

Make = Callable[[Any], Any]


def lower_kernel(model: Model, make: Make, kind: str, chains: int = 0) -> jax.stages.Lowered:
    """Lowers a kernel of Markov chain Monte Carlo.

    Args:
        model: Model and data.
        make: Makes the kernel from the model's function.
        kind: `step` (one transition, with adaptation), or `chain` (the start and 20 transitions in
            a scan, half of them adapting).
        chains: Chains of an ensemble, or chains under `vmap`; 0 for one.
    """
    kernel = make(model.function)
    rng = jax.eval_shape(lambda rng: jax.random.split(rng, chains), key()) if chains else key()

    def start(rng: jax.Array, *data: Any) -> Any:
        return kernel.init(rng, 10, None, model_args=data, model_kwargs={})

    def step(state: Any, *data: Any) -> Any:
        return kernel.sample(state, data, {})

    def chain(rng: jax.Array, *data: Any) -> Any:
        def transition(state: Any, _: None) -> Any:
            state = step(state, *data)
            return state, getattr(state, kernel.sample_field)

        return jax.lax.scan(transition, start(rng, *data), length=20)[1]

    if kind == "step":
        state = jax.eval_shape(start, rng, *model.data)
        return jax.jit(step).lower(state, *model.data)
    if chains:
        axes = (0, *(None for _ in model.data))
        return jax.jit(jax.vmap(chain, axes)).lower(rng, *model.data)
    return jax.jit(chain).lower(rng, *model.data)


def programs() -> list[tuple[str, str, Make, str, int]]:
    """Returns model, name of the kernel, what makes it, kind and number of chains."""
    nuts: Make = partial(NUTS, max_tree_depth=6)
    dense: Make = partial(NUTS, dense_mass=True, max_tree_depth=5)
    fixed: Make = partial(HMC, num_steps=8, adapt_step_size=False)
    stretched = {AIES.DEMove(): 0.5, AIES.StretchMove(): 0.5}
    centre = partial(init_to_value, values={"sigma": 0.05})

    def subsampling(function: Any) -> HMCECS:
        return HMCECS(NUTS(function, max_tree_depth=5), num_blocks=2)

    return [
        ("eight-schools-noncentred", "nuts", nuts, "step", 0),
        ("eight-schools-noncentred", "nuts", nuts, "chain", 3),
        ("eight-schools", "hmc", HMC, "step", 0),
        ("logistic", "hmc-fixed", fixed, "step", 0),
        ("logistic", "nuts-dense", dense, "chain", 0),
        ("logistic", "sa", SA, "chain", 0),
        ("logistic", "barker", BarkerMH, "step", 0),
        ("logistic", "aies", partial(AIES, moves=stretched), "step", 6),
        ("logistic", "ess", partial(ESS, moves={ESS.DifferentialMove(): 1.0}), "step", 6),
        ("logistic", "ess-gaussian", partial(ESS, moves={ESS.GaussianMove(): 1.0}), "step", 6),
        ("logistic-subsampled", "hmcecs", subsampling, "step", 0),
        ("hierarchical-lkj", "nuts", nuts, "step", 0),
        ("hierarchical-lkj", "hmc", partial(HMC, dense_mass=True), "chain", 2),
        ("horseshoe", "nuts", partial(nuts, init_strategy=init_to_median), "chain", 0),
        ("horseshoe", "nuts-forward", partial(nuts, forward_mode_differentiation=True), "step", 0),
        ("bayesian-network", "nuts", nuts, "step", 0),
        ("bayesian-network", "hmc-fixed", fixed, "chain", 4),
        ("regression-gp", "nuts-dense", dense, "step", 0),
        ("regression-gp", "sa", partial(SA, adapt_state_size=6), "step", 0),
        ("stochastic-volatility", "nuts", partial(nuts, init_strategy=centre), "step", 0),
        ("hmm", "nuts", nuts, "chain", 0),
        ("hmm", "hmc", partial(HMC, adapt_mass_matrix=False), "step", 0),
        ("state-space", "nuts", partial(nuts, init_strategy=init_to_sample), "chain", 0),
        ("autoregression", "nuts", partial(nuts, find_heuristic_step_size=True), "step", 0),
        ("mixture", "hmc", partial(HMC, trajectory_length=1.0), "chain", 0),
        ("mixture", "barker", partial(BarkerMH, dense_mass=True), "chain", 2),
        ("stick-breaking", "nuts", partial(nuts, init_strategy=init_to_feasible), "chain", 0),
        ("topics", "nuts", nuts, "step", 0),
        ("funnel", "nuts", partial(nuts, regularize_mass_matrix=False), "step", 0),
        ("funnel", "sa", partial(SA, dense_mass=False), "chain", 3),
        ("ordinal-reparam", "nuts", nuts, "chain", 0),
        ("zero-inflated", "nuts", partial(nuts, init_strategy=init_to_uniform), "step", 0),
        ("batting", "barker", partial(BarkerMH, adapt_step_size=False), "chain", 0),
        ("predator-prey", "nuts", dense, "step", 0),
        ("item-response", "hmc", HMC, "step", 0),
        ("covariance", "nuts", nuts, "chain", 0),
    ]


def recipes() -> Iterator[Recipe]:
    """Yields Markov chain Monte Carlo."""
    for model, kernel, make, kind, chains in programs():
        variant = f"{kind}-{kernel}" + (f"-c{chains}" if chains else "")
        yield Recipe(
            name=f"numpyro-mcmc/{model}/{variant}",
            family="numpyro-mcmc",
            library=LIBRARY,
            recipe=f"numpyro MCMC of {model}: kernel {kernel}, {kind}, chains {chains or 1}",
            lower=partial(lower_kernel, MODELS[model], make, kind, chains),
            scope="algorithm",
        )
