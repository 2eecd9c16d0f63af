"""HLO modules held by XLA: reading, inspecting, changing, comparing and writing them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.errors import HloParseError
from hlograph.execution.rates import current_rates
from hlograph.graph.features import GraphFeatures
from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import OPCODES
from hlograph.reading import parsers
from hlograph.reading.compression import compress, uncompressed
from hlograph.reading.device_counts import serialize
from hlograph.reading.recovery import ModuleName, in_file
from hlograph.reading.sources import Source, file_of, read_again, read_several, read_source
from hlograph.storage.locations import as_location, write_bytes
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
    from jax.stages import Lowered

    from hlograph import _xla
    from hlograph.execution.equivalence import EngineName, Equivalence, Limits


class Cost(NamedTuple):
    """Cost of a module's entry computation by XLA's cost model (``xla::HloCostAnalysis``).

    Attributes:
        flops: Floating-point operations, without transcendentals.
        transcendentals: Elements of exp, log, tanh and similar functions.
        bytes_accessed: Bytes read and written by all instructions.
    """

    flops: float
    transcendentals: float
    bytes_accessed: float


class Snapshot(NamedTuple):
    """Facts about one state of a module, read in one call.

    Attributes:
        fingerprint: Result of ``Module.fingerprint``.
        op_count: Value of ``Module.op_count``.
        op_counts: Instructions by opcode, float32 ``[len(hlograph.OPCODES)]``, at most 2**24.
    """

    fingerprint: str
    op_count: int
    op_counts: NDArray[np.float32]


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


class Module:
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

    __slots__ = ("__weakref__", "_lock", "_native")

    def __init__(self, handle: _xla.Module) -> None:
        """Wraps a native handle; use ``from_text``, ``from_proto``, ``from_jax`` or ``load``."""
        self._native = handle
        # Held by whatever changes the module: a pipeline replaces the handle at its end, and
        # would lose what another thread did to the old handle in the meantime.
        self._lock = threading.Lock()

    @classmethod
    def from_text(cls, text: str | bytes) -> Self:
        """Parses HLO text.

        The process survives any text: where XLA's parser would end it, the text is parsed in
        another process (``hlograph.reading.parsers``). Limits: 2,147,483,647 bytes;
        brackets nested 256 deep; 268,435,456 elements in all ``constant({...})`` together;
        16,777,216 devices in a sharding or list of replica groups.

        Raises:
            HloParseError: The text is not an HLO module; has line and column.
        """
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return cls._parse("text", data)

    @classmethod
    def from_proto(cls, serialized: bytes) -> Self:
        """Parses a serialized ``xla.HloModuleProto``.

        The process survives any bytes, as in ``from_text``. Limits: 2,147,483,647 bytes; messages
        nested 100 deep; at most as many elements in a literal as its bytes have bits; devices as
        in ``from_text``.

        Raises:
            HloParseError: The bytes are not an HLO module.
        """
        return cls._parse("proto", serialized)

    @classmethod
    def from_jax(cls, lowered: Lowered) -> Self:
        """Returns the module of ``jax.jit(f).lower(...)``, before XLA's optimizations.

        Raises:
            HloParseError: The linked XLA cannot read the HLO of this jax version.
        """
        return cls.read(lowered)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a file with HLO text (``.hlo``, ``.txt``) or a proto (``.pb``).

        The file may be compressed (``.gz``, ``.zst``).

        Args:
            path: A path, or a URL that fsspec reads.

        Raises:
            HloParseError: The file cannot be read or holds no HLO module.
        """
        return cls.read(as_location(path))

    @classmethod
    def read(cls, source: Source, *, module: ModuleName | None = None) -> Self:
        """Reads a module from any source that ``hlograph.parse`` takes, except a module.

        Args:
            source: The source.
            module: Name of the module, or its number from 0, in a text with several.

        Raises:
            HloParseError: The source holds no HLO module, or several and none is chosen; of a
                file, the message names it.
            UnknownNameError: There is no module of that name.
            ImportError: The source is StableHLO and jaxlib is not installed.

        Warns:
            HloWarning: Something around the module was left out.
        """
        kind, data = read_source(source, module)
        try:
            return cls._parse(kind, data)
        except HloParseError as error:
            failed = error if (file := file_of(source)) is None else in_file(file, error)
            if kind != "text" or module is not None:
                raise failed from error.__cause__
        kind, data = read_again(source, failed)
        try:
            return cls._parse(kind, data)
        except HloParseError as error:
            raise (error if file is None else in_file(file, error)) from error.__cause__

    @classmethod
    def read_all(cls, source: Source) -> list[Self]:
        """Reads all modules of a source: of a text with several, each of them.

        Raises:
            HloParseError: One of them is no HLO module.
            ImportError: The source is StableHLO and jaxlib is not installed.
        """
        return [cls._parse(*each) for each in read_several(source)] or [cls.read(source)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the module to a file that ``load`` reads.

        It is a proto if the name ends with ``.pb``, otherwise HLO text; with ``.gz`` or ``.zst``
        behind that it is compressed.

        Args:
            path: A path, or a URL that fsspec writes. A missing folder is made.

        Raises:
            OSError: The file cannot be written.
        """
        location = as_location(path)
        is_proto = uncompressed(str(location)).endswith(".pb")
        data = self.to_proto() if is_proto else self.to_text().encode()
        write_bytes(location, compress(data, str(location)))

    def clone(self) -> Self:
        """Returns an independent copy. Copying a module without changes costs nothing."""
        return type(self)(self._native.clone())

    @property
    def name(self) -> str:
        """The module's name."""
        return self._native.name

    @property
    def op_count(self) -> int:
        """Number of instructions in all computations (``xla::HloModule::instruction_count``)."""
        return self._native.op_count

    def op_counts(self) -> NDArray[np.int64]:
        """Returns the number of instructions of each opcode.

        Returns:
            int64 ``[len(hlograph.OPCODES)]``; sums to ``op_count``.
        """
        return self._native.op_counts()

    def opcodes(self) -> list[str]:
        """Returns the opcodes of the instructions, each once."""
        return [OPCODES[number] for number in np.flatnonzero(self.op_counts())]

    def to_text(self, *, metadata: bool = False) -> str:
        """Returns the HLO text with all constants in full; ``Module.from_text`` reads it back.

        Args:
            metadata: True also prints op names and source lines.
        """
        return self._native.to_text(metadata)

    def to_proto(self) -> bytes:
        """Returns the serialized ``xla.HloModuleProto``.

        The proto has no fields for the number of replicas and partitions and for
        ``allow_spmd_sharding_propagation``. Where they matter, use ``to_text`` or pickle.
        """
        return self._native.to_proto()

    def fingerprint(self, *, cached: bool = True) -> str:
        """Returns the identity of the module's state as 32 hexadecimal digits.

        The fingerprint is a 128-bit structural hash. It does not depend on names, ids, metadata
        or the order of computations. It is equal for a module, its clone, its reparsed text and
        its proto round trip, in every process. (``xla::HloModule::GetFingerprint128`` is not an
        identity: it hashes computations in their stored order, which cloning changes.)

        Args:
            cached: False computes the hash again even if no pass reported a change. This detects
                a pass that changed the module without reporting it.
        """
        return self._native.fingerprint(cached)

    def context_fingerprint(self) -> str:
        """Returns a hash of the settings of the module that ``fingerprint`` leaves out.

        These are the number of replicas and partitions and the module's own frontend attributes.
        Passes may read them, and no pass changes them.

        Returns:
            32 hexadecimal digits.
        """
        return self._native.surroundings()

    def structure(self) -> str:
        """Returns a hash of the module's opcodes and edges as 32 hexadecimal digits.

        Modules that differ only in shapes, element types, literals or attributes have the same
        structure. Edges are operands with their positions, control dependencies and calls.
        """
        return self._native.structure()

    def snapshot(self) -> Snapshot:
        """Returns fingerprint, op count and op counts of one state of the module."""
        return Snapshot(*self._native.state())

    def verify(self) -> None:
        """Checks the module with ``xla::HloVerifier``.

        Raises:
            VerificationError: The module breaks an invariant of HLO.
        """
        self._native.verify()

    def cost(self) -> Cost:
        """Returns the cost of the entry computation by XLA's cost model."""
        return Cost(*self._native.cost())

    def seconds(self) -> float:
        """Returns the predicted time of one run by XLA:CPU in jaxlib, in seconds.

        The rates of ``hlograph.execution.rates`` are those that ``hlograph calibrate`` measured on
        this machine, or else the default's. A loop whose trip count the module does not say counts
        as eight iterations.
        """
        return current_rates().predict_module(self._native)

    def graph(self) -> HloGraph:
        """Returns the module as a typed graph."""
        return HloGraph.from_native(self._native)

    def features(self) -> GraphFeatures:
        """Returns the module's graph as arrays of floats, without creating an ``HloGraph``.

        Returns:
            The same arrays as ``hlograph.graph.features`` computes from ``graph()``, in a third
            of the time.
        """
        return GraphFeatures(*native().features(self._native))

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

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[object, tuple[parsers.HloForm, bytes]]:
        return type(self)._parse, serialize(self._native)

    def __repr__(self) -> str:
        return f"<hlograph.Module {self.name!r}: {self.op_count} instructions>"

    @classmethod
    def _parse(cls, kind: parsers.HloForm, data: bytes) -> Self:
        return cls(parsers.parse(kind, data))

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


def parse(source: Source | Module, *, module: ModuleName | None = None) -> HloGraph:
    """Reads a module from any source as a typed graph.

    The kind of a file or of bytes is detected from the content, not from the suffix. The module
    is not verified: the graph shows it as it is written. The process survives any source.
    ``Module.from_text`` and ``Module.from_proto`` list the limits. A file may hold 2,147,483,647
    bytes, compressed or not.

    Args:
        source: HLO text (str or bytes); a serialized ``HloModuleProto``, or the ``HloProto`` of
            an XLA dump; a path or URL of one of them, plain or compressed with gzip or zstd;
            StableHLO text or bytecode (converted by jaxlib); a ``jax.stages.Lowered``; or an
            ``hlograph.Module``. A str without a line break or brace is taken as a path, or as a
            URL that fsspec reads, such as ``s3://bucket/step.hlo.zst``. Of a text around a module,
            such as a message with it, the module is read.
        module: Name of the module, or its number from 0, in a text with several.

    Returns:
        The graph.

    Raises:
        HloParseError: The source holds no HLO module. ``line`` and ``column`` say where HLO text
            is wrong. For a file that does not exist it is an ``HloFileNotFoundError``, which is
            also a ``FileNotFoundError``. For a text with several modules, of which none is chosen,
            the message names them; see ``parse_all``.
        UnknownNameError: There is no module of that name.
        EngineUnavailableError: The native extension cannot be loaded.
        ImportError: The source is StableHLO and jaxlib is not installed.

    Warns:
        HloWarning: Something around the module was left out; the message says what.
    """
    return (source if isinstance(source, Module) else Module.read(source, module=module)).graph()


def parse_all(source: Source | Module) -> list[HloGraph]:
    """Reads all modules of a source as typed graphs: of a text with several, each of them.

    Args:
        source: A source as for ``parse``; a text with several modules has them one after the
            other, also with ``// -----`` between them.

    Returns:
        The graphs, in the order of the source.

    Raises:
        HloParseError: One of them is no HLO module.
        EngineUnavailableError: The native extension cannot be loaded.
        ImportError: The source is StableHLO and jaxlib is not installed.
    """
    modules = [source] if isinstance(source, Module) else Module.read_all(source)
    return [module.graph() for module in modules]
