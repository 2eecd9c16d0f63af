"""HLO modules held by XLA."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from hlograph.errors import HloParseError
from hlograph.reading import parsers
from hlograph.reading.compression import compress, uncompressed
from hlograph.reading.device_counts import serialize
from hlograph.reading.sources import Source, file_of, read_source
from hlograph.storage.locations import as_location, write_bytes
from hlograph.transforms.transformable_module import TransformableModule

if TYPE_CHECKING:
    from jax.stages import Lowered

    from hlograph.execution.equivalence import EngineName, Equivalence, Limits
    from hlograph.graph.hlo_graph import HloGraph


class Module(TransformableModule):
    """One HLO module, mutable, held by XLA.

    Passes change it in place; a pass that fails leaves it exactly as it was. Methods release the
    GIL while XLA works and may be called from any thread.

    Example:
        >>> module = Module.load("step.hlo")
        >>> module.run("call-inliner"), module.run(hlograph.pipelines["xla-simplify"])
        (True, True)
        >>> module.op_count
        771
    """

    __slots__ = ()

    @classmethod
    def from_text(cls, text: str | bytes) -> Self:
        """Parses HLO text.

        The process survives any text: where XLA's parser would end it, the text is parsed in
        another process (``hlograph.reading.isolated_parser``). Limits: 2,147,483,647 bytes;
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
    def read(cls, source: Source) -> Self:
        """Reads a module from any source that ``hlograph.parse`` takes, except a module.

        Raises:
            HloParseError: The source holds no HLO module; of a file, the message names it.
            ImportError: The source is StableHLO and jaxlib is not installed.
        """
        kind, data = read_source(source)
        try:
            return cls._parse(kind, data)
        except HloParseError as error:
            if (file := file_of(source)) is None:
                raise
            raise HloParseError(f"in {file}: {error}") from error

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
        (``hlograph.execution.equivalence.judgement``). Modules for several devices, with random
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
        from hlograph.execution.equivalence import Reference

        reference = Reference(self, samples=samples, seed=seed, engines=engines, limits=limits)
        return reference.compare(other)

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[object, tuple[parsers.Kind, bytes]]:
        return type(self)._parse, serialize(self._native)

    @classmethod
    def _parse(cls, kind: parsers.Kind, data: bytes) -> Self:
        return cls(parsers.parse(kind, data))


def parse(source: Source | Module) -> HloGraph:
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
            URL that fsspec reads, such as ``s3://bucket/step.hlo.zst``.

    Returns:
        The graph.

    Raises:
        HloParseError: The source holds no HLO module. ``line`` and ``column`` say where HLO text
            is wrong. For a file that does not exist it is an ``HloFileNotFoundError``, which is
            also a ``FileNotFoundError``.
        EngineUnavailableError: The native extension cannot be loaded.
        ImportError: The source is StableHLO and jaxlib is not installed.
    """
    return (source if isinstance(source, Module) else Module.read(source)).graph()
