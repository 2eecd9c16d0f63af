"""Evolution strategies of evosax, designed and learned: they move a distribution of points."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator

import optax
from evosax.core.fitness_shaping import (
    add_weight_decay,
    centered_rank_fitness_shaping_fn,
    normalize_fitness_shaping_fn,
    standardize_fitness_shaping_fn,
)
from recipe import Recipe
from sources.evosax_algorithms import Strategy, made, strategy_recipes


def evolution_strategies() -> dict[str, Strategy]:
    """Returns the strategies, and some again with other options."""
    cma, es, learned = "cma-es", "evolution-strategy", "learned-evolution"
    decay = add_weight_decay(centered_rank_fitness_shaping_fn, 1e-2)
    return {
        "cma-es": Strategy(cma, made("CMA_ES"), "rosenbrock", many=True),
        "sep-cma-es": Strategy(cma, made("Sep_CMA_ES"), "ellipsoidal"),
        "ma-es": Strategy(cma, made("MA_ES"), "bent_cigar"),
        "lm-ma-es": Strategy(cma, made("LM_MA_ES"), "discus"),
        "rm-es": Strategy(cma, made("Rm_ES", m=2), "sharp_ridge"),
        "sv-cma-es": Strategy(cma, made("SV_CMA_ES"), "schwefel", on_network=False),
        "cma-anchored-les": Strategy(cma, made("CMAAnchoredLES"), "lunacek"),
        "cr-fm-nes": Strategy(cma, made("CR_FM_NES"), "different_powers"),
        "xnes": Strategy(es, made("xNES"), "rastrigin", many=True),
        "snes": Strategy(es, made("SNES"), "bueche_rastrigin"),
        "snes-adam": Strategy(es, made("SNES", optimizer=optax.adam(1e-2)), "sphere", "gaussian"),
        "open-es": Strategy(es, made("Open_ES"), "linear_slope", many=True),
        "open-es-adamw": Strategy(
            es,
            made(
                "Open_ES",
                optimizer=optax.adamw(1e-2),
                std_schedule=optax.cosine_decay_schedule(1.0, 100),
                fitness_shaping_fn=decay,
                use_antithetic_sampling=False,
            ),
            "step_ellipsoidal",
            "cauchy",
        ),
        "sv-open-es": Strategy(es, made("SV_Open_ES"), "weierstrass", on_network=False),
        "ars": Strategy(es, made("ARS"), "attractive_sector"),
        "ars-normalized": Strategy(
            es,
            made(
                "ARS",
                optimizer=optax.sgd(1e-2, 0.9),
                fitness_shaping_fn=normalize_fitness_shaping_fn,
            ),
            "rosenbrock_rotated",
            "uniform",
        ),
        "asebo": Strategy(es, made("ASEBO", subspace_dims=3), "ellipsoidal_rotated"),
        "guided-es": Strategy(es, made("GuidedES", subspace_dims=2), "rastrigin_rotated"),
        "esmc": Strategy(es, made("ESMC"), "schaffers_f7"),
        "noise-reuse-es": Strategy(es, made("NoiseReuseES"), "griewank_rosenbrock"),
        "persistent-es": Strategy(es, made("PersistentES"), "katsuura"),
        "pgpe": Strategy(es, made("PGPE"), "schaffers_f7_ill_cond", many=True),
        "pgpe-adam": Strategy(
            es,
            made(
                "PGPE",
                optimizer=optax.adam(1e-2),
                fitness_shaping_fn=standardize_fitness_shaping_fn,
            ),
            "sphere",
            "uniform",
        ),
        "simple-es": Strategy(es, made("SimpleES"), "sphere"),
        "iamalgam-full": Strategy(es, made("iAMaLGaM_Full"), "gallagher_21_hi"),
        "iamalgam-univariate": Strategy(es, made("iAMaLGaM_Univariate"), "rastrigin", "cauchy"),
        "discovered-es": Strategy(learned, made("DiscoveredES"), "ellipsoidal"),
        "learned-es": Strategy(learned, made("LearnedES"), "rosenbrock"),
        "learned-ga": Strategy(learned, made("LearnedGA"), "rastrigin"),
    }


def recipes() -> Iterator[Recipe]:
    """Yields the evolution strategies."""
    for name, strategy in evolution_strategies().items():
        yield from strategy_recipes(name, strategy)
