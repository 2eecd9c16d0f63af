"""Genetic algorithms, swarms and local search of evosax, on BBOB or a network.

The programs are one generation, or a scan of them. The evolution strategies of evosax take what
makes their programs from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import evosax.algorithms as algorithms
import jax
import jax.numpy as jnp
import optax
from evosax.problems.bbob.meta_bbob import MetaBBOBProblem
from evosax.problems.networks import MLP, tanh_output_fn
from recipe import Recipe, abstract, array, key

LIBRARY = "evosax"
GROUPS = 2
"""Populations of the algorithms with several (Stein variational ones)."""


class Strategy(NamedTuple):
    """An algorithm with its options.

    Attributes:
        family: Class of algorithm.
        make: Called with population size and solution.
        function: BBOB function of its generation.
        noise: BBOB noise model of its generation.
        population: Population size.
        many: Lower several independent runs, too.
        make_for_network: Takes the place of `make` where the solution is a network's weights.
        on_network: Lower generations on a network, too; not all take pytrees as solutions.
    """

    family: str
    make: Callable[..., Any]
    function: str
    noise: str = "noiseless"
    population: int = 12
    many: bool = False
    make_for_network: Callable[..., Any] | None = None
    on_network: bool = True


class Fitness(NamedTuple):
    """Problem to minimise: an example of a solution, `evaluate(key, solutions, data)`, data."""

    solution: Any
    evaluate: Callable[..., jax.Array]
    data: Any


def network() -> MLP:
    """Returns evosax's policy network with two hidden layers."""
    return MLP(layer_sizes=(8, 8, 2), output_fn=tanh_output_fn)


def uniform_sample(rng: jax.Array) -> jax.Array:
    """Returns a point of the search space, for random search."""
    return jax.random.uniform(rng, (6,), minval=-5.0, maxval=5.0)


def network_sample(rng: jax.Array) -> Any:
    """Returns random weights of the network, for random search."""
    return network().init(rng, jnp.zeros((1, 4)), rng)


def bbob_fitness(function: str, noise: str, dims: int = 6) -> Fitness:
    """Returns a BBOB function; its optimum and rotations are arguments."""
    options = {"noise_model_names": [noise], "use_stabilization": noise != "noiseless"}
    problem = MetaBBOBProblem([function], dims, dims, noise_config=options)
    params = jax.eval_shape(problem.sample_params, key())
    state = jax.eval_shape(problem.init, key(), params)

    def evaluate(rng: jax.Array, solutions: Any, data: Any) -> jax.Array:
        return problem.eval(rng, solutions, data[1], data[0])[0]

    return Fitness(jnp.zeros(dims), evaluate, (params, state))


def network_fitness() -> Fitness:
    """Returns the mean squared error of a network on a batch, its weights the solution."""
    model = network()
    weights = jax.eval_shape(model.init, key(), array(1, 4), key())
    solution = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), weights)

    def evaluate(rng: jax.Array, solutions: Any, data: Any) -> jax.Array:
        def error(weights: Any) -> jax.Array:
            return jnp.mean((model.apply(weights, data[0], rng) - data[1]) ** 2)

        return jax.vmap(error)(solutions)

    return Fitness(solution, evaluate, (array(16, 4), array(16, 2)))


def lower_generations(
    make: Callable[..., Any],
    make_fitness: Callable[[], Fitness],
    population: int,
    generations: int,
    runs: int,
) -> jax.stages.Lowered:
    """Lowers generations of an algorithm: ask, evaluate, tell.

    Args:
        make: Makes the algorithm.
        make_fitness: Makes what is minimised.
        population: Population size.
        generations: Length of the scan; 0 for one generation without a scan.
        runs: Independent runs under `vmap`; 0 for one without.
    """
    fitness = make_fitness()
    algorithm = make(population, fitness.solution)
    # Not under eval_shape: LM_MA_ES computes its memory size here.
    params = abstract(jax.tree.map(jnp.asarray, algorithm.default_params))
    grouped = hasattr(algorithm, "num_populations")

    def stacked(size: int) -> Any:
        return jax.tree.map(lambda leaf: array(size, *leaf.shape), fitness.solution)

    if isinstance(algorithm, algorithms.algorithms["SimpleGA"].__mro__[1]):
        start: tuple[Any, ...] = (stacked(population), array(population))
    else:
        start = (stacked(GROUPS) if grouped else fitness.solution,)
    state = jax.eval_shape(algorithm.init, key(), *start, params)

    def generation(rng: jax.Array, state: Any, params: Any, data: Any) -> Any:
        ask_rng, evaluate_rng, tell_rng = jax.random.split(rng, 3)
        solutions, state = algorithm.ask(ask_rng, state, params)
        values = fitness.evaluate(evaluate_rng, solutions, data)
        state, metrics = algorithm.tell(tell_rng, solutions, values, state, params)
        return state, metrics["best_fitness"]

    def loop(rng: jax.Array, state: Any, params: Any, data: Any) -> Any:
        def body(state: Any, rng: jax.Array) -> Any:
            return generation(rng, state, params, data)

        return jax.lax.scan(body, state, jax.random.split(rng, generations))

    program = loop if generations else generation
    rng = key()
    if runs:
        program = jax.vmap(program, in_axes=(0, 0, None, None))
        rng = jax.eval_shape(lambda rng: jax.random.split(rng, runs), rng)
        state = jax.tree.map(lambda leaf: array(runs, *leaf.shape, dtype=leaf.dtype), state)
    return jax.jit(program).lower(rng, state, params, fitness.data)


def made(name: str, **options: Any) -> Callable[..., Any]:
    """Returns a maker of an algorithm by its class name."""
    if name.startswith("SV_"):  # Not in the table of names; these take a number of populations.
        maker = getattr(algorithms, name)
        return lambda population, solution: maker(population, GROUPS, solution, **options)
    return partial(getattr(algorithms, name), **options)


def strategy_recipes(name: str, strategy: Strategy) -> Iterator[Recipe]:
    """Yields the programs of an algorithm."""
    bbob = partial(bbob_fitness, strategy.function, strategy.noise)
    problem = f"BBOB {strategy.function}, {strategy.noise}, 6 dimensions"
    make = strategy.make
    programs: list[tuple[str, str, Callable[[], Fitness], Callable[..., Any], int, int]] = [
        # Variant, words, fitness, algorithm, generations, runs.
        ("generation-bbob", f"{problem}; 1 generation", bbob, make, 0, 0),
    ]
    if strategy.on_network:
        on_network = strategy.make_for_network or make
        words = "MLP 4-8-8-2; 16 in a scan"
        programs.append(("loop16-mlp", words, network_fitness, on_network, 16, 0))
    else:
        programs.append(("loop16-bbob", f"{problem}; 16 in a scan", bbob, make, 16, 0))
    if strategy.many:
        words = f"{problem}; 32 in a scan, 3 runs under vmap"
        programs.append(("runs3-bbob", words, bbob, make, 32, 3))
    size = strategy.population
    for variant, words, fitness, maker, generations, runs in programs:
        yield Recipe(
            name=f"{strategy.family}/{name}/{variant}",
            family=strategy.family,
            library=LIBRARY,
            recipe=f"evosax {name}, population {size}; {words}",
            lower=partial(lower_generations, maker, fitness, size, generations, runs),
            scope="algorithm",
        )


def point_algorithms() -> dict[str, Strategy]:
    """Returns the algorithms that keep points and no distribution, some with other options."""
    ga, swarm, local = "genetic-algorithm", "swarm", "local-search"
    return {
        "simple-ga": Strategy(
            ga,
            made("SimpleGA", std_schedule=optax.cosine_decay_schedule(1.0, 100)),
            "rosenbrock",
            many=True,
        ),
        "mr15-ga": Strategy(ga, made("MR15_GA"), "discus"),
        "samr-ga": Strategy(ga, made("SAMR_GA"), "schwefel"),
        "gesmr-ga": Strategy(ga, made("GESMR_GA", num_groups=3), "lunacek", population=13),
        "differential-evolution": Strategy(
            swarm, made("DifferentialEvolution"), "weierstrass", many=True
        ),
        "differential-evolution-d2": Strategy(
            swarm, made("DifferentialEvolution", num_diff=2), "katsuura", "gaussian"
        ),
        "diffusion-evolution": Strategy(swarm, made("DiffusionEvolution"), "gallagher_101_me"),
        "diffusion-evolution-latent": Strategy(
            swarm, made("DiffusionEvolution", num_latent_dims=2), "schaffers_f7"
        ),
        "pso": Strategy(swarm, made("PSO"), "griewank_rosenbrock", many=True),
        "hill-climbing": Strategy(local, made("HillClimbing"), "linear_slope"),
        "simulated-annealing": Strategy(local, made("SimulatedAnnealing"), "rastrigin_rotated"),
        "gradientless-descent": Strategy(local, made("GradientlessDescent"), "bent_cigar"),
        "random-search": Strategy(
            local,
            made("RandomSearch", sampling_fn=uniform_sample),
            "sphere",
            make_for_network=made("RandomSearch", sampling_fn=network_sample),
        ),
    }


def recipes() -> Iterator[Recipe]:
    """Yields the genetic algorithms, swarms and local searches."""
    for name, strategy in point_algorithms().items():
        yield from strategy_recipes(name, strategy)
