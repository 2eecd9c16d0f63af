"""HLO modules held by XLA."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.reading.isolated_parser import parse_isolated
from hlograph.reading.sources import Source, read_source
from hlograph.storage.locations import as_location
from hlograph.transforms.pipelines import Pipeline
from hlograph.transforms.registry import Pass, passes

if TYPE_CHECKING:
    from jax.stages import Lowered

    from hlograph import _xla
    from hlograph.execution.equivalence import EngineName, Equivalence, Limits
    from hlograph.graph.features import GraphFeatures
    from hlograph.graph.hlo_graph import HloGraph
    from hlograph.transforms.rewriting import Place, Rewrite, Rule


def _trusted(answer: bytes) -> _xla.Module:
    """Parses what was parsed in another process before: a proto, or text as XLA prints it."""
    module = native().Module
    # A proto begins with the tag of a field.
    parse = module.from_text if answer.startswith(b"HloModule") else module.from_proto
    handle = parse(answer, alone=True)
    assert handle is not None  # only what is not alone may be refused
    return handle


class Cost(NamedTuple):
    """XLA's cost model of a module (``xla::HloCostAnalysis`` of its entry).

    Attributes:
        flops: Floating-point operations, transcendentals not among them.
        transcendentals: Elements of exp, log, tanh and the like.
        bytes_accessed: Bytes read and written by all instructions.
    """

    flops: float
    transcendentals: float
    bytes_accessed: float


class Snapshot(NamedTuple):
    """What is seen of a module's state at one look.

    Attributes:
        fingerprint: As ``Module.fingerprint``.
        op_count: As ``Module.op_count``.
        op_counts: Instructions by opcode, float32 ``[len(hlograph.OPCODES)]``, at most 2**24.
    """

    fingerprint: str
    op_count: int
    op_counts: NDArray[np.float32]


class PassRun(NamedTuple):
    """What one run of a pass came to.

    Attributes:
        reported: Whether the pass says that it changed the module.
        seconds: Time in the pass.
        snapshot: The module now; None where it is in the state that it was in before, which some
            passes call a change.
    """

    reported: bool
    seconds: float
    snapshot: Snapshot | None


class Module:
    """One HLO module, mutable, held by XLA.

    Passes change it in place; a pass that fails leaves it exactly as it was.
    Methods release the GIL while XLA works and may be called from any thread.

    Example:
        >>> module = Module.load("step.hlo")
        >>> module.run("call-inliner"), module.run(hlograph.pipelines["xla-simplify"])
        (True, True)
        >>> module.op_count
        771
    """

    __slots__ = ("_native",)

    def __init__(self, handle: _xla.Module) -> None:
        """Wraps a native handle; use ``from_text``, ``from_proto``, ``from_jax`` or ``load``."""
        self._native = handle

    @classmethod
    def from_text(cls, text: str | bytes) -> Module:
        """Parses HLO text.

        Whatever the text is, the process goes on; where XLA's parser would end it, the text is
        parsed in another process (``hlograph.reading.isolated_parser``). Limits: 2,147,483,647
        bytes; brackets nested 256 deep; 268,435,456 elements in all ``constant({...})`` together;
        16,777,216 devices in a sharding or list of replica groups.

        Raises:
            HloParseError: The text is not an HLO module; has line and column.
        """
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        handle = native().Module.from_text(data)
        return cls(handle or _trusted(parse_isolated("text", data)))

    @classmethod
    def from_proto(cls, serialized: bytes) -> Module:
        """Parses a serialized ``xla.HloModuleProto``.

        As safe as ``from_text``. Limits: 2,147,483,647 bytes; messages nested 100 deep; a
        literal has no more elements than its bytes have bits; devices as there.

        Raises:
            HloParseError: The bytes are not one.
        """
        handle = native().Module.from_proto(serialized)
        return cls(handle or _trusted(parse_isolated("proto", serialized)))

    @classmethod
    def from_jax(cls, lowered: Lowered) -> Module:
        """Takes the module of ``jax.jit(f).lower(...)``, before XLA's optimizations.

        Raises:
            HloParseError: The linked XLA does not read what this jax lowers to.
        """
        return cls.read(lowered)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Module:
        """Reads HLO text (``.hlo``, ``.txt``) or a proto (``.pb``), also in ``.gz`` or ``.zst``.

        Args:
            path: A path, or a URL that fsspec reads.

        Raises:
            HloParseError: The file cannot be read or holds no HLO module.
        """
        return cls.read(as_location(path))

    @classmethod
    def read(cls, source: Source) -> Module:
        """Reads a module from whatever holds one, as ``hlograph.parse`` does.

        Raises:
            HloParseError: The source holds no HLO module.
            ImportError: The source is StableHLO and jaxlib is not installed.
        """
        kind, data = read_source(source)
        return cls.from_text(data) if kind == "text" else cls.from_proto(data)

    @property
    def name(self) -> str:
        """The module's name."""
        return self._native.name

    @property
    def op_count(self) -> int:
        """Instructions in all computations (``xla::HloModule::instruction_count``)."""
        return self._native.op_count

    def op_counts(self) -> NDArray[np.int64]:
        """Returns the instructions by opcode.

        Returns:
            int64 ``[len(hlograph.OPCODES)]``; sums to ``op_count``.
        """
        return self._native.op_counts()

    def to_text(self, *, metadata: bool = False) -> str:
        """Returns the HLO text, with all constants in full; it parses back.

        Args:
            metadata: Whether to print op names and source lines.
        """
        return self._native.to_text(metadata)

    def to_proto(self) -> bytes:
        """Returns the serialized ``xla.HloModuleProto``."""
        return self._native.to_proto()

    def clone(self) -> Module:
        """Returns an independent copy; of a module without changes at no cost."""
        return Module(self._native.clone())

    def fingerprint(self, *, cached: bool = True) -> str:
        """Returns the identity of the module's state, as 32 hexadecimal digits.

        A 128-bit structural hash, independent of names, ids, metadata and the
        order of computations: equal for a module, its clone, its reparsed text
        and its proto round trip, in every process. Cached until a pass changes
        the module. (``xla::HloModule::GetFingerprint128`` is not an identity: it
        hashes computations in their stored order, which cloning changes.)

        Args:
            cached: False computes it anew, to find a pass that changed the module
                though it said that it did not.
        """
        return self._native.fingerprint(cached)

    def surroundings(self) -> str:
        """Returns a hash of what passes may go by and ``fingerprint`` leaves out, as 32 digits.

        How many devices the module is for, and its own frontend attributes: no
        ``HloModuleProto`` carries them, and no pass changes them.
        """
        return self._native.surroundings()

    def snapshot(self) -> Snapshot:
        """Returns fingerprint, op count and op counts, in one look."""
        return Snapshot(*self._native.state())

    def structure(self) -> str:
        """Returns a hash of the module's opcodes and edges alone, as 32 hexadecimal digits.

        Modules that differ only in shapes, element types, literals or attributes
        have the same structure. Edges are operands with their positions, control
        dependencies and calls.
        """
        return self._native.structure()

    def verify(self) -> None:
        """Checks the module with ``xla::HloVerifier``.

        Raises:
            VerificationError: The module breaks an invariant of HLO.
        """
        self._native.verify()

    def cost(self) -> Cost:
        """Returns XLA's cost model of the entry computation."""
        return Cost(*self._native.cost())

    def run(self, pass_or_pipeline: Pass | Pipeline | str) -> bool:
        """Runs one pass, or a pipeline, on the module.

        Args:
            pass_or_pipeline: An entry of ``hlograph.passes`` or its name, or a
                pipeline of ``hlograph.pipelines``.

        Returns:
            Whether it changed the module, as XLA reports it.

        Raises:
            PassError: XLA's pass returned an error; the module is as before,
                before the whole pipeline if it was one.
            UnknownNameError: No pass has that name.
        """
        if isinstance(pass_or_pipeline, Pipeline):
            return self._run_pipeline(pass_or_pipeline)
        if isinstance(pass_or_pipeline, str):
            pass_or_pipeline = passes[pass_or_pipeline]
        return self._native.run(pass_or_pipeline._native)

    def run_and_look(self, entry: Pass) -> PassRun:
        """Runs one pass, and looks at the module if it is in another state then.

        As ``run``, ``fingerprint`` and the counts one after the other, but quicker: one call
        of the extension, and no look at a module that the pass left alone.

        Raises:
            PassError: XLA's pass returned an error; the module is as before.
        """
        reported, seconds, state = self._native.run_and_look(entry._native)
        return PassRun(reported, seconds, None if state is None else Snapshot(*state))

    def rewrites(self, chosen: Iterable[Rule | str] | None = None) -> list[Rewrite]:
        """Lists the rewrites that apply to the module now.

        Args:
            chosen: Rules of ``hlograph.rules`` or their names; None is all but those for the
                target, which fuse instructions (``xla_cpu.before_fusion``).

        Returns:
            Them, in the order of the rules, then of the computations (callees first) and their
            instructions (operands first).

        Raises:
            UnknownNameError: No rule has one of the names.
        """
        from hlograph.transforms.rewriting import find_rewrites

        return find_rewrites(self._native, chosen)

    def places(self, chosen: Iterable[Rule | str]) -> list[Place]:
        """Lists where rules may apply, without trying them as ``rewrites`` does.

        Args:
            chosen: Rules of ``hlograph.rules`` or their names.

        Returns:
            What ``rewrites`` tries, in its order. Rules of fusion do apply there.

        Raises:
            UnknownNameError: No rule has one of the names.
        """
        from hlograph.transforms.rewriting import find_places

        return find_places(self._native, chosen)

    def apply(self, rewrite: Place | str) -> None:
        """Applies one rewrite, and nothing else.

        Args:
            rewrite: One of ``rewrites()`` or ``places()``, or of those before another one was
                applied; or such a place as text.

        Raises:
            RewriteError: It does not apply, or not any more, or XLA returned an error; the module
                is as before.
            UnknownNameError: There is no such rule.
            ValueError: The string is no place.
        """
        from hlograph.transforms.rewriting import apply_rewrite

        apply_rewrite(self._native, rewrite)

    def _run_pipeline(self, pipeline: Pipeline) -> bool:
        # On a copy, so that a failure half-way leaves this module untouched.
        copy = self._native.clone()
        changed: list[bool] = []

        def step(entry: Pass) -> bool:
            changed.append(copy.run(entry._native))
            return changed[-1]

        pipeline.run(step)
        self._native = copy
        return any(changed)

    def equivalent_to(
        self,
        other: Module,
        *,
        samples: int = 2,
        seed: int = 0,
        engines: Sequence[EngineName] = ("compiled", "evaluator"),
        limits: Limits | None = None,
    ) -> Equivalence:
        """Returns whether another module computes the same, found out by running both.

        Both run on the same random inputs, which fit what this module uses its parameters for
        (``hlograph.execution.equivalence.inputs``): compiled by XLA:CPU and, as far as it is fast
        enough, by XLA's reference evaluator, which no pass of XLA comes before. Differences are
        judged by the rounding errors that this module commits and magnifies
        (``hlograph.execution.equivalence.judgement``). Modules of more than one device, with random
        numbers, custom calls without code or dynamic shapes are named as not comparable.

        Args:
            other: The module to compare with; usually this one after passes.
            samples: Random inputs.
            seed: Seed of the inputs; the same seed gives the same inputs.
            engines: Ways to run both.
            limits: What it may cost; None is ``hlograph.execution.equivalence.Limits()``.

        Returns:
            The result; true as a condition if the outputs are equal or close, false if they
            are different. If the modules could not be compared, taking it as a condition raises
            ``NotComparableError``: look at ``verdict``.

        Raises:
            SignatureError: The modules take or give different arrays.
            VerificationError: XLA's verifier rejects one of them.
        """
        from hlograph.execution.equivalence import Reference

        reference = Reference(self, samples=samples, seed=seed, engines=engines, limits=limits)
        return reference.compare(other)

    def graph(self) -> HloGraph:
        """Returns the module as a typed graph."""
        from hlograph.graph.hlo_graph import HloGraph

        return HloGraph.from_native(self._native)

    def features(self) -> GraphFeatures:
        """Returns the module's graph as arrays of floats, without making an ``HloGraph`` first.

        Returns:
            What ``hlograph.graph.features`` makes of ``graph()``, in a third of the time.
        """
        from hlograph.graph.features import GraphFeatures

        return GraphFeatures(*native().features(self._native))

    def __repr__(self) -> str:
        return f"<hlograph.Module {self.name!r}: {self.op_count} instructions>"

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return Module.from_proto, (self.to_proto(),)
