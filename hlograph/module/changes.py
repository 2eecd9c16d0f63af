"""HLO modules held by XLA that are changed, by passes and rewrites, and compared."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hlograph.module.held import HeldModule, Snapshot
from hlograph.transforms.pipelines import Pipeline, by_name
from hlograph.transforms.registry import Pass
from hlograph.transforms.rewriting import (
    Place,
    Rewrite,
    apply_rewrite,
    find_places,
    find_rewrites,
    is_place,
    sweep_module,
)
from hlograph.transforms.rules import Rule

if TYPE_CHECKING:
    from hlograph import _xla
    from hlograph.execution.equivalence import EngineName, Equivalence, Limits


class PassRun(NamedTuple):
    """Result of one run of a pass.

    Attributes:
        reported: True if the pass reported a change.
        seconds: Wall time of the pass in seconds.
        snapshot: The new state of the module; None if the state is the same as before. Some
            passes report a change and leave the state as it was.
    """

    reported: bool
    seconds: float
    snapshot: Snapshot | None


class Module(HeldModule):
    """One HLO module, mutable, held by XLA.

    Passes change it in place. A pass, pipeline or rewrite that fails leaves it exactly as it was.
    Methods release the GIL while XLA works and may be called from any thread: passes, pipelines
    and rewrites run one after the other, and other threads see the module either before or after a
    whole pipeline.

    Example:
        >>> module = Module.load("step.hlo")
        >>> module.run("call-inliner"), module.run(hlograph.pipelines["xla-simplify"])
        (True, True)
        >>> module.op_count
        771
    """

    __slots__ = ("_lock",)

    def __init__(self, handle: _xla.Module) -> None:
        """Wraps a native handle; use ``from_text``, ``from_proto``, ``from_jax`` or ``load``."""
        super().__init__(handle)
        # Held by whatever changes the module: a pipeline replaces the handle at its end, and
        # would lose what another thread did to the old handle in the meantime.
        self._lock = threading.Lock()

    def run(self, pass_or_pipeline: Pass | Pipeline | str) -> bool:
        """Runs one pass, or a pipeline, on the module.

        Args:
            pass_or_pipeline: An entry of ``hlograph.passes``, a pipeline of
                ``hlograph.pipelines``, or the name of one of them.

        Returns:
            True if XLA reports that it changed the module.

        Raises:
            PassError: XLA's pass returned an error. The module is as before the call, also if a
                pipeline failed at a later pass.
            UnknownNameError: No pass or pipeline has that name.
            TypeError: The argument is of another type.
        """
        if isinstance(pass_or_pipeline, str):
            pass_or_pipeline = by_name(pass_or_pipeline)
        if not isinstance(pass_or_pipeline, Pass | Pipeline):
            raise TypeError(
                "expected a pass, a pipeline or its name, got "
                f"{type(pass_or_pipeline).__qualname__}"
            )
        with self._lock:
            if isinstance(pass_or_pipeline, Pipeline):
                return self._run_pipeline(pass_or_pipeline)
            return self._native.run(pass_or_pipeline._native)

    def run_with_snapshot(self, entry: Pass) -> PassRun:
        """Runs one pass and returns a snapshot of the module if its state changed.

        This is faster than ``run`` followed by ``snapshot``: it is one call of the extension, and
        it takes no snapshot if the pass left the module as it was.

        Raises:
            PassError: XLA's pass returned an error; the module is as before.
        """
        with self._lock:
            reported, seconds, state = self._native.run_and_look(entry._native)
        return PassRun(reported, seconds, None if state is None else Snapshot(*state))

    def rewrites(self, chosen: Iterable[Rule | str] | Rule | str | None = None) -> list[Rewrite]:
        """Lists the rewrites that apply to the module now.

        Args:
            chosen: Rules of ``hlograph.rules`` or their names, or one. None means all rules except
                those for the target, which fuse instructions (``xla_cpu.before_fusion``).

        Returns:
            The rewrites in the order of the rules, then of the computations (callees first) and
            their instructions (operands first).

        Raises:
            UnknownNameError: No rule has one of the names.
        """
        return find_rewrites(self._native, chosen)

    def places(self, chosen: Iterable[Rule | str] | Rule | str) -> list[Place]:
        """Lists the places where rules may apply, without trying them as ``rewrites`` does.

        Args:
            chosen: Rules of ``hlograph.rules`` or their names, or one.

        Returns:
            The places that ``rewrites`` tries, in its order. Fusion rules apply at every one of
            them, other rules may not apply.

        Raises:
            UnknownNameError: No rule has one of the names.
        """
        return find_places(self._native, chosen)

    def apply(self, rewrite: Place | str) -> None:
        """Applies one rewrite and changes nothing else.

        Args:
            rewrite: A rewrite or place that ``rewrites`` or ``places`` listed, also before other
                rewrites were applied; or a place as text, such as ``"algebraic(add.1)"``, or
                ``"algebraic(*)"`` or ``"algebraic(-)"`` for a sweep.

        Raises:
            RewriteError: The rewrite does not apply (any more), or XLA returned an error; the
                module is as before.
            UnknownNameError: There is no such rule.
            ValueError: The string is not a place.
        """
        with self._lock:
            apply_rewrite(self._native, rewrite)

    def sweep(self, rule: Rule | str, *, fewer: bool = False) -> int:
        """Applies a rule at all places where it applies now, in the order of the module.

        A place where it does not apply any more, after those before it, is left out. Places that
        its rewrites make are left alone, so a sweep ends also if a rule applies to its own
        results. It is one change: it takes about as long as one rewrite and trying the rule
        at each place.

        Args:
            rule: A rule of ``hlograph.rules`` or its name.
            fewer: True for the places where the rewrite by itself leaves fewer instructions.

        Returns:
            The number of places; 0 if the rule applies nowhere, and the module is as it was.

        Raises:
            RewriteError: XLA returned an error; the module is as before.
            UnknownNameError: No rule has this name.
        """
        with self._lock:
            return sweep_module(self._native, rule, fewer=fewer)

    def equivalent_to(
        self,
        other: Module,
        *,
        samples: int = 2,
        seed: int = 0,
        engines: Sequence[EngineName] = ("compiled", "evaluator"),
        limits: Limits | None = None,
    ) -> Equivalence:
        """Runs this module and another one, and returns whether they compute the same.

        Both run on the same random inputs, which are chosen to fit the way this module uses its
        parameters (``hlograph.execution.equivalence.inputs``). They are compiled by XLA:CPU and,
        if it is fast enough, also run by XLA's reference evaluator, which runs no passes before.
        Differences are compared with the rounding errors that this module makes and amplifies
        (``hlograph.execution.equivalence.verdict``). Modules for several devices, with random
        numbers, with custom calls without code or with dynamic shapes are not comparable.

        Args:
            other: The module to compare with, usually this one after passes.
            samples: Number of random inputs.
            seed: Seed of the inputs; the same seed gives the same inputs.
            engines: Engines that run both modules.
            limits: Limits of the cost; None is ``hlograph.execution.equivalence.Limits()``.

        Returns:
            The result. As a condition it is true if the outputs are equal or close, and false if
            they are different. If the modules could not be compared, using it as a condition
            raises ``NotComparableError``; look at ``verdict``.

        Raises:
            SignatureError: The modules have different parameters or results.
            VerificationError: XLA's verifier rejects one of them.
        """
        # Not at the top: it would import ml_dtypes wherever a module is read.
        from hlograph.execution.equivalence import OriginalModule

        reference = OriginalModule(self, samples=samples, seed=seed, engines=engines, limits=limits)
        return reference.compare(other)

    def _run_pipeline(self, pipeline: Pipeline) -> bool:
        # On a copy, so that a failure half-way leaves this module as it was.
        copy = self._native.clone()
        changed: list[bool] = []

        def step(entry: Pass) -> bool:
            changed.append(copy.run(entry._native))
            return changed[-1]

        pipeline.run(step)
        self._native = copy
        return any(changed)


def take_step(module: Module, step: str) -> bool:
    """Runs a pass or pipeline on a module, or applies a rewrite.

    Args:
        module: The module; it is changed in place.
        step: Name of the pass or pipeline, or place of the rewrite.

    Returns:
        True if XLA reports that the step changed the module.

    Raises:
        PassError: A pass returned an error; the module is as before.
        RewriteError: The rewrite does not apply, or returned an error; the module is as before.
        UnknownNameError: There is no such pass, pipeline or rule.
    """
    if not is_place(step):
        return module.run(step)
    module.apply(step)
    return True
