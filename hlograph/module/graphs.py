"""Reads modules from any source as typed graphs."""

from __future__ import annotations

from hlograph.graph.hlo_graph import HloGraph
from hlograph.module.changes import Module
from hlograph.reading.recovery import ModuleName
from hlograph.reading.sources import Source


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
