"""Read-only view of an HLO module held by XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.graph.features import GraphFeatures
from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import OPCODES
from hlograph.kernel_times import current_rates

if TYPE_CHECKING:
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


class ModuleView:
    """Base class of ``hlograph.Module`` with the methods that do not change the module.

    Methods release the GIL while XLA works and may be called from any thread.
    """

    __slots__ = ("_native",)

    def __init__(self, handle: _xla.Module) -> None:
        """Wraps a native handle."""
        self._native = handle

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

        The rates of ``hlograph.kernel_times`` are those that ``hlograph calibrate`` measured on
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

    def __repr__(self) -> str:
        return f"<hlograph.Module {self.name!r}: {self.op_count} instructions>"
