"""Reference pipelines: fixed orders of registry passes to compare with.

``hlograph.pipelines["xla-cpu"]`` is the order in which XLA:CPU itself runs its target-independent
passes up to layout assignment, taken from the pass metadata that XLA's compiler records.
``xla-cpu-unexpanded`` is the same order without the passes that rewrite instructions only because
the target cannot run them. ``xla-simplify`` is a fixed point of the passes that shrink a module.
``hlograph-simplify`` is an order that ``experiments.search.fixed_order`` found.
All consist of passes of ``hlograph.passes``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from hlograph.errors import UnknownNameError
from hlograph.transforms.registry import Pass, passes

# The iteration limit of xla::HloPassFix.
FIXED_POINT_LIMIT = 25


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Group of passes that runs again and again until a round changes nothing.

    Source: ``xla::HloPassFix``, with its limit of 25 rounds.
    """

    steps: tuple[Pass, ...]

    def __str__(self) -> str:
        return "fixed point of (" + ", ".join(step.name for step in self.steps) + ")"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Named order of passes and fixed-point groups.

    Attributes:
        name: Name in ``hlograph.pipelines``.
        description: Description in one line.
        steps: Passes and groups, in order.
    """

    name: str
    description: str
    steps: tuple[Pass | FixedPoint, ...]

    @property
    def passes(self) -> frozenset[str]:
        """Names of its passes."""
        groups = (step.steps if isinstance(step, FixedPoint) else (step,) for step in self.steps)
        return frozenset(entry.name for group in groups for entry in group)

    def calls(self) -> Generator[Pass | None, bool | None]:
        """Yields each pass, is sent whether it changed the module, and yields None at the end."""
        for item in self.steps:
            if isinstance(item, Pass):
                yield item
                continue
            for _ in range(FIXED_POINT_LIMIT):
                changed = False
                for entry in item.steps:  # every pass of a round runs
                    changed = bool((yield entry)) or changed
                if not changed:
                    break
        yield None

    def run(self, step: Callable[[Pass], bool]) -> list[Pass]:
        """Runs the pipeline by calling a function for each pass.

        Args:
            step: Function that runs one pass and returns True if it changed the module.

        Returns:
            All passes that ran, in order, with fixed points unrolled. Running them one by one
            gives the same module.
        """
        called: list[Pass] = []
        calls, changed = self.calls(), None
        while (entry := calls.send(changed)) is not None:
            called.append(entry)
            changed = step(entry)
        return called

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.description}"]
        return "\n".join(
            lines
            + [f"  {step if isinstance(step, FixedPoint) else step.name}" for step in self.steps]
        )


class Pipelines(Mapping[str, Pipeline]):
    """Read-only mapping from names to the reference pipelines."""

    def __init__(self, load: Callable[[], Iterable[Pipeline]]) -> None:
        """Keeps a function that yields the pipelines; it is called on first use."""
        self._load = load

    @cached_property
    def _by_name(self) -> dict[str, Pipeline]:
        return {pipeline.name: pipeline for pipeline in self._load()}

    def __getitem__(self, name: str) -> Pipeline:
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownNameError.of("pipeline", name, list(self._by_name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def _passes(names: str) -> tuple[Pass, ...]:
    return tuple(passes[name] for name in names.split())


_CPU_SIMPLIFICATION = (
    "algsimp:cpu simplify-sorts dce gather_expander:simple gather_simplifier "
    "tree_reduction_rewriter zero_sized_hlo_elimination while-loop-invariant-code-motion "
    "tuple-simplifier while-loop-constant-sinking simplify-while-loops dce reshape-mover "
    "constant_folding simplify-conditional"
)

_FOR_THE_TARGET = (
    "result_caster dot_decomposer operand_upcaster rng-expander rng-bit-generator-expander "
    "dynamic-index-splitter topk-decomposer:operation comparison-expander cholesky_expander "
    "qr_expander eigh_expander triangular_solve_expander all_to_all_decomposer "
    "stochastic_convert_decomposer all-reduce-promotion float-normalization-bf16 "
    "convolution-group-converter:batch convolution-group-converter:cpu batchnorm_expander "
    "logistic-expander reduce-window-rewriter dynamic_padder change-op-data-type:f16-f32 "
    "gather_expander:simple tree_reduction_rewriter select_and_scatter_expander "
    "scatter_expander:simple bitcast_dtypes_expander"
)


def _xla_cpu() -> Pipeline:
    simplification = FixedPoint(_passes(_CPU_SIMPLIFICATION))
    return Pipeline(
        "xla-cpu",
        "XLA:CPU's own order up to layout assignment",
        (
            *_passes(
                "flatten-call-graph sharding-remover dce "
                "batched_gather_scatter_normalizer result_caster dot_decomposer operand_upcaster "
                "rng-expander rng-bit-generator-expander zero_sized_hlo_elimination "
                "dynamic-index-splitter conditional-to-select map-inline topk-decomposer:operation "
                "comparison-expander cholesky_expander qr_expander eigh_expander "
                "triangular_solve_expander all_to_all_decomposer stochastic_convert_decomposer "
                "call-inliner:single-call-site batch-dot-simplification dot_decomposer "
                "all-reduce-promotion float-normalization-bf16 batch-dot-simplification "
                "convolution-group-converter:batch convolution-group-converter:cpu "
                "batchnorm_expander logistic-expander conditional-canonicalizer "
                "dynamic-dimension-simplifier reduce-window-rewriter reduce-window-resizer "
                "dynamic_padder change-op-data-type:f16-f32"
            ),
            simplification,
            *_passes("select_and_scatter_expander scatter_expander:simple scatter_simplifier"),
            simplification,
            *_passes(
                "bitcast_dtypes_expander topk-rewriter transpose-folding:dot cse "
                "cse_barrier_expander tuple-simplifier while-loop-trip-count-annotator "
                "flatten-call-graph"
            ),
        ),
    )


def _xla_simplify() -> Pipeline:
    return Pipeline(
        "xla-simplify",
        "fixed point of inlining, simplification and cse",
        (
            FixedPoint(
                _passes(
                    "call-inliner algsimp simplify-sorts dce tuple-simplifier "
                    "while-loop-invariant-code-motion while-loop-constant-sinking "
                    "simplify-while-loops reshape-mover constant_folding simplify-conditional "
                    "cse dce"
                )
            ),
        ),
    )


def _hlograph_simplify() -> Pipeline:
    return Pipeline(
        "hlograph-simplify",
        "order found by search on the corpus's train split",
        (
            *_passes(
                "constant_folding while-loop-invariant-code-motion cse_barrier_expander "
                "call-inliner:small transpose-folding all-reduce-combiner sharding-remover "
                "tuple-simplifier cse constant_folding"
            ),
            FixedPoint(
                _passes(
                    "call-inliner:single-call-site simplify-conditional slice-sinker "
                    "algsimp:no-dot-strength-reduction reshape-mover:cheap-broadcast "
                    "transpose-folding tuple-simplifier while-loop-constant-sinking "
                    "constant_folding simplify-while-loops algsimp:no-dot-strength-reduction dce "
                    "cse while-loop-invariant-code-motion"
                )
            ),
        ),
    )


def _without(pipeline: Pipeline, left_out: frozenset[Pass], name: str, text: str) -> Pipeline:
    def kept(steps: tuple[Pass | FixedPoint, ...]) -> Iterator[Pass | FixedPoint]:
        for step in steps:
            if isinstance(step, FixedPoint):
                yield FixedPoint(tuple(p for p in step.steps if p not in left_out))
            elif step not in left_out:
                yield step

    return Pipeline(name, text, tuple(kept(pipeline.steps)))


def _pipelines() -> Iterator[Pipeline]:
    yield (xla_cpu := _xla_cpu())
    yield _without(
        xla_cpu,
        frozenset(_passes(_FOR_THE_TARGET)),
        "xla-cpu-unexpanded",
        "XLA:CPU's own order without the expansions that only the target asks for",
    )
    yield _xla_simplify()
    yield _hlograph_simplify()
    yield Pipeline("none", "leaves the module as it is", ())


pipelines = Pipelines(_pipelines)
"""The reference pipelines by name."""


def by_name(name: str) -> Pass | Pipeline:
    """Returns the pass or the pipeline of a name.

    Raises:
        UnknownNameError: There is none.
    """
    if name in pipelines:
        return pipelines[name]
    if name not in passes.names:
        raise UnknownNameError.of("pass or pipeline", name, [*passes.names, *pipelines])
    return passes[name]
