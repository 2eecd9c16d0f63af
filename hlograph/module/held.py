"""HLO modules held by XLA, as they are: reading, inspecting and writing them."""

from __future__ import annotations

import os
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

if TYPE_CHECKING:
    from jax.stages import Lowered

    from hlograph import _xla


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


class HeldModule:
    """One HLO module held by XLA: all of ``Module`` but what changes it, or compares it."""

    __slots__ = ("__weakref__", "_native")

    def __init__(self, handle: _xla.Module) -> None:
        """Wraps a native handle; use ``from_text``, ``from_proto``, ``from_jax`` or ``load``."""
        self._native = handle

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
        behind that it is compressed. A proto has no place for the numbers of replicas and
        partitions, and the text leaves out op names and source lines; ``to_text(metadata=True)``
        has all of it.

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
