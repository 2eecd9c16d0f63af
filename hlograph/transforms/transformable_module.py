"""The methods of a module that run passes, pipelines and rewrites on it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from hlograph.inspection.module_view import ModuleView, Snapshot
from hlograph.transforms.pipelines import Pipeline, by_name
from hlograph.transforms.registry import Pass
from hlograph.transforms.rewriting import (
    Place,
    Rewrite,
    apply_rewrite,
    find_places,
    find_rewrites,
    sweep_module,
)
from hlograph.transforms.rules import Rule

if TYPE_CHECKING:
    from hlograph import _xla


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


class TransformableModule(ModuleView):
    """Base class of ``hlograph.Module`` with the methods that change the module.

    A pass, pipeline or rewrite that fails leaves the module exactly as it was. Threads may share
    a module: passes, pipelines and rewrites run one after the other, and other threads see the
    module either before or after a whole pipeline.
    """

    __slots__ = ("__weakref__", "_lock")

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
