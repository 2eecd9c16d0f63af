"""The record of one benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlograph.module import Module
    from hlograph.storage.locations import Location


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: facts about a module, and its location. ``load`` loads the module.

    Attributes:
        name: ``family/model/variant`` in the shipped corpus; unique in a set.
        family: Model family or class of algorithm. Whole families are held out for
            ``test-unseen``, and for each split of the set ``speed``.
        library: Distribution name of the library whose code was lowered; empty if unknown.
        version: Its version; empty if unknown.
        scope: ``training-step`` or ``model`` (of a whole model), ``algorithm`` or ``layer``;
            empty if unknown.
        recipe: Description of the program that was lowered, in one line.
        set: ``gpt2-train``, ``diverse`` or ``speed``; ``own`` for the user's modules.
        split: ``train``, ``validation``, ``test-seen`` or ``test-unseen``; in the set ``speed``
            ``train``, ``validation`` or ``test``.
        op_count: Instructions of the module as shipped.
        op_count_xla_cpu: Instructions after the pipeline ``xla-cpu``; None if not measured.
        op_count_xla_dump: Instructions in XLA:CPU's own dump before layout assignment; None if
            not measured.
        op_count_xla_simplify: Instructions after the pipeline ``xla-simplify``; None if not
            measured.
        fingerprint: ``Module.fingerprint()``.
        structure: ``Module.structure()``; equal for modules that differ only in shapes.
        source: Path or URL that ``Module.load`` takes, or bytes that ``Module.read`` takes.
    """

    name: str
    family: str
    library: str
    version: str
    scope: str
    recipe: str
    set: str
    split: str
    op_count: int
    op_count_xla_cpu: int | None
    op_count_xla_dump: int | None
    op_count_xla_simplify: int | None
    fingerprint: str
    structure: str
    source: Location | bytes

    def load(self) -> Module:
        """Loads the module; each call returns a new one.

        Raises:
            HloParseError: The file is missing or damaged.
        """
        from hlograph.module import Module

        if isinstance(self.source, bytes):
            return Module.read(self.source)
        return Module.load(self.source)
