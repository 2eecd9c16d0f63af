"""Kinds of places: equal work has the same kind, wherever it stands and whatever its name."""

import jax
import jax.numpy as jnp

from hlograph.plans import Placement, Plan, Program, compile_lowered
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_modules import fingerprint, text_of
from hlograph.plans.placing import place
from hlograph.plans.placing.places import PlacementDecision, decided_in, place_all
from hlograph.reading.hlo_editing import ModuleText
from tests.hlograph.plans import functions as f

X, W = f.array(64, 64), f.array(64, 64)


def layers(x: jax.Array, w: jax.Array) -> jax.Array:
    for _ in range(2):
        x = jnp.tanh(x @ w)
    return jnp.cumsum(jnp.sin(x), 0)


def same_layers_and_more(images: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    return layers(images, weights), jnp.sort(images @ weights)


def shared(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns two results, in different fusions, of a fusion that is too dear to compute twice."""
    y = jnp.exp(jnp.sin(x))
    return jnp.flip(y, 1) * 2, (y + y.T) @ x


def _module(proto: bytes) -> ModuleText:
    return ModuleText.parse(text_of(proto, literals=False))


def decided(function: object, *arguments: jax.Array) -> list[PlacementDecision]:
    return decided_in(_module(f.program_of(jax.jit(function).lower(*arguments))[0]))  # pyright: ignore[reportArgumentType,reportCallIssue]


def library_of(function: object, *arguments: jax.Array) -> PlacementDecision:
    found = [one for one in decided(function, *arguments) if one.decision == "library none"]
    return max(found, key=lambda one: len(one.places))


def test_equal_layers_are_decided_together() -> None:
    library = library_of(layers, X, W)
    assert len(library.placements) == len(library.places) == 2
    assert {placement.decision for placement in library.placements} == {"library"}
    assert library.about.startswith("fusion f32[64,64]")


def test_a_kind_is_the_same_in_another_program() -> None:
    one, other = library_of(layers, X, W), library_of(same_layers_and_more, X, W)
    assert one.kind == other.kind


def test_other_shapes_are_other_kinds() -> None:
    assert library_of(layers, X[:32], W).kind != library_of(layers, X, W).kind


def test_a_fusion_is_fused_into_all_of_its_users() -> None:
    flags = {"xla_cpu_experimental_ynn_fusion_type": ""}
    lowered = jax.jit(shared).lower(X)
    proto = optimized_module(Program.of(lowered), Plan(flags=flags))
    found = [one for one in decided_in(_module(proto)) if one.decision.startswith("fuse ")]
    every = next(one for one in found if one.decision == "fuse all")
    assert len(every.placements) > 1
    plan = Plan(flags=flags, placements=every.placements, placed=fingerprint(proto))
    for one, expected in zip(compile_lowered(lowered, plan)(X), jax.jit(shared)(X), strict=True):
        f.assert_same(one, expected)


def test_placements_that_no_longer_apply_are_left_out() -> None:
    proto, _ = f.program_of(jax.jit(layers).lower(X, W))
    library = next(one for one in decided_in(_module(proto)) if one.decision == "library none")
    twice = [*library.placements, library.placements[0], Placement("nothing", "unfuse")]
    kept = place_all(_module(proto), twice)
    assert kept == list(library.placements)
    assert place(proto, kept)


def test_what_was_looked_up_is_forgotten_after_an_edit() -> None:
    """Placements after a look at the whole module are those of a module that was just read."""
    proto, _ = f.program_of(jax.jit(shared).lower(X))
    module = _module(proto)
    every = [one for found in decided_in(module) for one in found.placements]
    copy = module.copy()
    kept = place_all(copy, every)
    assert 0 < len(kept) < len(every)
    assert str(module) == str(_module(proto)) != str(copy)
    fresh = _module(proto)
    assert place_all(fresh, every) == kept
    assert str(fresh) == str(copy)


def test_a_loop_is_one_kernel_without_its_libraries() -> None:
    def steps(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 5, lambda _, x: jnp.tanh(x @ x) - x, x)

    lowered = jax.jit(steps).lower(X)
    proto, _ = f.program_of(lowered)
    found = {one.decision: one for one in decided_in(_module(proto))}
    assert "one-kernel" not in found
    loop = found["one-kernel without libraries"]
    assert {placement.decision for placement in loop.placements} == {"library", "one-kernel"}
    assert place_all(_module(proto), loop.placements) == list(loop.placements)
    compiled = f.planned(lowered, *loop.placements)
    assert "__ynn_fusion" not in f.text_of(compiled)
    f.assert_same(compiled(X), steps(X))
