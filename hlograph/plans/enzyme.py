"""Steps of plans that rewrite StableHLO by patterns of Enzyme-JAX, where that is installed.

Enzyme-JAX (https://github.com/EnzymeAD/Enzyme-JAX) has some 500 patterns, and pipelines of them. A
step names a pipeline, and patterns that are left out or alone, by globs:

    enzyme(full)
    enzyme(full without transpose* reshape*)
    enzyme(one-round only dot*)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from hlograph.errors import PlanError
from hlograph.plans import mlir_modules

PIPELINES: Mapping[str, Mapping[str, Any] | None] = MappingProxyType(
    {
        "full": {},
        "one-round": None,
        "nothing-moved": {"transpose_propagate": "none", "reshape_propagate": "none"},
        "all-patterns": {
            "enable_self_to_convolution_like_passes": True,
            "enable_structured_tensors_detection_passes": True,
            "enable_slice_to_batch_passes": True,
        },
    }
)
"""Arguments of Enzyme-JAX's whole pipeline, by a name; None is one round of its patterns."""

_STEP = re.compile(r"enzyme\(([\w-]+)(?: (without|only) ([\w* ]+))?\)")
_NAMES = re.compile(r"[{;](\w+)(?=[<(;}])")
_SHARDING = re.compile(r"stablehlo\.custom_call @Sharding\((%\w+)\) {[^\n]*} : ([^\n]*)")
_NEEDED = "pip install enzyme-ad==0.0.16, which fits jax 0.10.2 on Python 3.11"


class EnzymeStep(NamedTuple):
    """A pipeline of Enzyme-JAX, and the patterns of it.

    Attributes:
        pipeline: Name of the pipeline.
        how: Empty, or ``without`` or ``only``.
        globs: Globs of the patterns that are left out or alone.
    """

    pipeline: str
    how: str = ""
    globs: tuple[str, ...] = ()

    @classmethod
    def parse(cls, step: str) -> Self:
        """Reads a step of a plan.

        Raises:
            PlanError: It is malformed, or there is no such pipeline.
        """
        match = _STEP.fullmatch(step)
        if match is None or match[1] not in PIPELINES:
            raise PlanError(
                "expected a step such as 'enzyme(full without transpose*)' with a pipeline of "
                f"{', '.join(PIPELINES)}, got {step!r}"
            )
        return cls(match[1], match[2] or "", tuple((match[3] or "").split()))

    def __str__(self) -> str:
        """Returns the step as plans have it."""
        words = [self.pipeline, *([self.how, *self.globs] if self.how else [])]
        return f"enzyme({' '.join(words)})"

    def excluded(self, names: Sequence[str]) -> list[str]:
        """Returns the patterns that are left out.

        Args:
            names: Names of all patterns of the pipeline.
        """
        if not self.how:
            return []
        alone = self.how == "only"
        return [n for n in names if any(fnmatchcase(n, g) for g in self.globs) != alone]

    def passes(self) -> str:
        """Returns the pipeline as Enzyme-JAX takes it.

        Raises:
            PlanError: Enzyme-JAX is not installed, or does not fit the installed jax.
        """
        excluded = self.excluded(pattern_names(self.pipeline)) if self.how else []
        return f"{_passes(self.pipeline, excluded)},tensor-empty-raise,drop-unsupported-attributes"


def is_enzyme_step(step: str) -> bool:
    """Returns True if a step of a plan is one of Enzyme-JAX."""
    return step.startswith("enzyme(")


def pattern_names(pipeline: str) -> tuple[str, ...]:
    """Returns the names of a pipeline's patterns, in order.

    Raises:
        PlanError: Enzyme-JAX is not installed, or does not fit the installed jax.
    """
    return tuple(dict.fromkeys(_NAMES.findall(_passes(pipeline, []))))


def _passes(pipeline: str, excluded: Sequence[str]) -> str:
    library, options = _library(), PIPELINES[pipeline]
    if options is None:
        return library.optimization_passes(excluded_passes=list(excluded))
    passes = library.full_optimization_pass_pipeline(excluded_passes=list(excluded), **options)
    return passes.rstrip(",")


@lru_cache(maxsize=1)
def _library() -> Any:
    """Imports Enzyme-JAX.

    Raises:
        PlanError: It is not installed, or does not fit the installed jax.
    """
    try:
        import enzyme_ad.jax as library  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise PlanError(f"Enzyme-JAX cannot be imported ({error}): {_NEEDED}") from error
    except Exception as error:  # whatever a version for another jax raises
        raise PlanError(f"Enzyme-JAX does not fit this jax ({error}): {_NEEDED}") from error
    return library


def rewritten_text(text: str, step: str) -> str:
    """Returns the text of a StableHLO module after a step.

    Args:
        text: The module; its entry function is ``main``.
        step: The step.

    Raises:
        PlanError: Enzyme-JAX is not there, or fails.
    """
    passes = EnzymeStep.parse(step).passes()
    try:
        name, rewritten = _library().enzyme_call.run_pass_pipeline([], text, passes)
    except Exception as error:  # whatever Enzyme-JAX raises
        raise PlanError(f"Enzyme-JAX fails in {step}: {str(error).splitlines()[0]}") from error
    # The function that was the program comes back private, and perhaps under another name.
    return rewritten.replace(f"func.func private @{name}(", "func.func public @main(")


def rewritten_program(data: bytes, step: str) -> bytes:
    """Returns the StableHLO bytecode of a program after a step.

    Arguments and results keep what the program says of them, such as donation; that of a program
    from HLO is in a table, which comes back as it was.

    Args:
        data: StableHLO text or bytecode.
        step: The step.

    Raises:
        PlanError: Enzyme-JAX is not there, fails, or changes the program's signature.
    """
    module = mlir_modules.parse(data)
    target = mlir_modules.parse(rewritten_text(as_lowered(str(module)), step).encode())
    old, new = mlir_modules.main_of(module), mlir_modules.main_of(target)
    if str(old.type) != str(new.type):
        raise PlanError(f"{step} changed the program's signature")
    if any(name in old.attributes for name in ("arg_attrs", "res_attrs")):
        mlir_modules.copy_signature(module, target)
    return mlir_modules.to_bytecode(target)


def as_lowered(text: str) -> str:
    """Returns StableHLO that jaxlib has made of HLO, without what no other compiler reads.

    jax lowers top-k to CHLO, of which jaxlib makes MHLO; and it says how values lie on devices,
    which is nothing on a single one.
    """
    return _SHARDING.sub(r"stablehlo.reshape \1 : \2", text.replace("mhlo.topk(", "chlo.top_k("))
