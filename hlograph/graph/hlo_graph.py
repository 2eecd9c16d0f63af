"""A module as a typed graph: numpy columns that need nothing but numpy to read."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.graph.attributes import AttributeValue, decode_attributes
from hlograph.graph.columns import COLUMNS
from hlograph.graph.export import to_networkx, to_pyg
from hlograph.graph.file import load, save
from hlograph.graph.formats import from_json, to_dot, to_json, to_model_explorer
from hlograph.graph.traits import TRAITS
from hlograph.graph.vocabulary import OPCODES

if TYPE_CHECKING:
    from networkx import MultiDiGraph
    from torch_geometric.data import Data

    from hlograph import _xla


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HloGraph:
    """One HLO module as a typed directed multigraph, in columns.

    Nodes are instructions, parameters, constants and computations. They are numbered
    computation by computation, callees before callers, operands before users; the N nodes end
    with the C computations, in the same order. Edges go from operand to user (data), from
    control predecessor to successor (control), from caller to computation (call) and from
    computation to its root (member); the E edges have no reverse stored.

    Ragged columns hold the values of all nodes one behind the other: node ``i`` owns
    ``[offsets[i], offsets[i + 1])``. All arrays are read-only.

    Attributes:
        node_type: uint8 ``[N]``, index in ``vocabulary.NODE_TYPES``.
        opcode: int16 ``[N]``, index in ``vocabulary.OPCODES``; -1 for a computation.
        element_type: uint8 ``[N]``, index in ``vocabulary.ELEMENT_TYPES``; a computation has
            the shape of its root, in this and the next columns.
        elements: int64 ``[N]``, number of elements, of a tuple the sum over its leaves, 0 for
            tokens. A dimension without a bound counts as 1; sizes stop at 2**48.
        bytes: int64 ``[N]``, likewise, in bytes, without padding or packing.
        computation: int32 ``[N]``, number of the computation that the node belongs to or is.
        is_root: bool ``[N]``, True for the root of a computation.
        is_entry: bool ``[N]``, True for the entry computation and the nodes in it.
        traits: uint32 ``[N]``, one bit for each of ``traits.TRAITS``, from the lowest.
        dim_offsets: int64 ``[N + 1]``, offsets in the next three; tuples have no dimensions.
        dim_size: int64 ``[D]``, sizes of dimensions; of a dynamic dimension its bound, or the
            smallest int64 where it has none.
        dim_layout: int64 ``[D]``, dimensions from minor to major; -1 where no layout is set.
        dim_is_dynamic: bool ``[D]``, True if the dimension has a dynamic size.
        attribute_offsets: int64 ``[N + 1]``, offsets in the next.
        attribute_key: uint8 ``[A]``, index in ``vocabulary.ATTRIBUTES``.
        value_offsets: int64 ``[A + 1]``, by attribute, offsets in the next.
        attribute_values: int64 ``[V]``, integers; the bits of a float64 for ``literal_floats``;
            an index in ``strings`` for ``vocabulary.TEXT_ATTRIBUTES``.
        strings: The texts of attributes, each once.
        edge_index: int64 ``[2, E]``, source and target nodes.
        edge_type: uint8 ``[E]``, index in ``vocabulary.EDGE_TYPES``.
        edge_position: int32 ``[E]``, position among the user's operands (data) or the caller's
            computations (call); 0 for other edges.
        name_offsets: int64 ``[N + 1]``, offsets in the next.
        name_text: uint8 ``[T]``, names in UTF-8, without the leading ``%``.
    """

    node_type: NDArray[np.uint8]
    opcode: NDArray[np.int16]
    element_type: NDArray[np.uint8]
    elements: NDArray[np.int64]
    bytes: NDArray[np.int64]
    computation: NDArray[np.int32]
    is_root: NDArray[np.bool_]
    is_entry: NDArray[np.bool_]
    traits: NDArray[np.uint32]
    dim_offsets: NDArray[np.int64]
    dim_size: NDArray[np.int64]
    dim_layout: NDArray[np.int64]
    dim_is_dynamic: NDArray[np.bool_]
    attribute_offsets: NDArray[np.int64]
    attribute_key: NDArray[np.uint8]
    value_offsets: NDArray[np.int64]
    attribute_values: NDArray[np.int64]
    strings: tuple[str, ...]
    edge_index: NDArray[np.int64]
    edge_type: NDArray[np.uint8]
    edge_position: NDArray[np.int32]
    name_offsets: NDArray[np.int64]
    name_text: NDArray[np.uint8]

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column = getattr(self, name)
            if column.flags.writeable:
                # A view, so that the caller's array stays writeable for the caller.
                column = column.view()
                column.setflags(write=False)
                object.__setattr__(self, name, column)

    @classmethod
    def from_native(cls, module: _xla.Module) -> HloGraph:
        """Returns the graph of a module held by the extension (use ``Module.graph``)."""
        columns: dict[str, Any] = native().graph(module)
        for name in COLUMNS:
            columns[name].setflags(write=False)
        for name in ("is_root", "is_entry", "dim_is_dynamic"):
            columns[name] = columns[name].view(np.bool_)
        columns["strings"] = tuple(columns["strings"])
        return cls(**columns)

    @property
    def num_nodes(self) -> int:
        """Number of nodes, N: instructions (with parameters and constants) and computations."""
        return len(self.node_type)

    @property
    def num_edges(self) -> int:
        """Number of edges of all types, E."""
        return len(self.edge_type)

    @property
    def num_computations(self) -> int:
        """Number of computations, C. They are the last C nodes."""
        return int(self.computation[-1]) + 1 if self.num_nodes else 0

    def opcode_name(self, node: int) -> str:
        """Returns XLA's name of the node's opcode, or ``computation``."""
        opcode = int(self.opcode[node])
        return OPCODES[opcode] if opcode >= 0 else "computation"

    def name(self, node: int) -> str:
        """Returns the name of an instruction or computation in the HLO text."""
        begin, end = self._span(self.name_offsets, node)
        return self.name_text[begin:end].tobytes().decode("utf-8", "replace")

    def names(self) -> list[str]:
        """Returns the names of all nodes in order; faster than calling ``name`` for each."""
        text = self.name_text.tobytes()
        ends = self.name_offsets.tolist()
        return [text[b:e].decode("utf-8", "replace") for b, e in itertools.pairwise(ends)]

    def dims(self, node: int) -> tuple[int, ...]:
        """Returns the sizes of the node's dimensions; ``()`` for scalars and tuples."""
        begin, end = self._span(self.dim_offsets, node)
        return tuple(self.dim_size[begin:end].tolist())

    def layout(self, node: int) -> tuple[int, ...] | None:
        """Returns the node's dimensions from minor to major, or None where no layout is set."""
        begin, end = self._span(self.dim_offsets, node)
        layout = tuple(self.dim_layout[begin:end].tolist())
        return None if -1 in layout else layout

    def trait_names(self, node: int) -> tuple[str, ...]:
        """Returns the names of the node's traits (``traits.TRAITS``)."""
        bits = int(self.traits[node])
        return tuple(name for i, name in enumerate(TRAITS) if bits >> i & 1)

    def attributes(self, node: int) -> dict[str, AttributeValue]:
        """Returns the node's attributes by name, decoded (``attributes.decode_attributes``)."""
        return decode_attributes(self, self._index(node))

    def _index(self, node: int) -> int:
        """Returns the number of a node that may be counted from the end, as in numpy."""
        return range(self.num_nodes)[node]

    def _span(self, offsets: NDArray[np.int64], node: int) -> tuple[int, int]:
        index = self._index(node)
        return int(offsets[index]), int(offsets[index + 1])

    def to_pyg(self) -> Data:
        """Returns ``torch_geometric.data.Data`` (see ``hlograph.graph.export.to_pyg``)."""
        return to_pyg(self)

    def to_networkx(self) -> MultiDiGraph:
        """Returns a networkx graph (see ``hlograph.graph.export.to_networkx``)."""
        return to_networkx(self)

    def to_dot(self) -> str:
        """Returns Graphviz text with one cluster for each computation."""
        return to_dot(self)

    def to_json(self) -> str:
        """Returns the columns as JSON; ``from_json`` returns an equal graph."""
        return to_json(self)

    def to_model_explorer(self) -> str:
        """Returns JSON for Model Explorer (see ``hlograph.graph.formats``)."""
        return to_model_explorer(self)

    @classmethod
    def from_json(cls, text: str) -> HloGraph:
        """Reads JSON that ``to_json`` wrote.

        Raises:
            HloError: The text is something else, or its columns are inconsistent.
        """
        return cls(**from_json(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph to one compact file (customary suffix: ``.hlograph``)."""
        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HloGraph:
        """Reads a file that ``save`` wrote; needs neither XLA nor the extension.

        Raises:
            FileNotFoundError: There is no such file.
            HloError: The file is something else, or damaged.
        """
        return cls(**load(path))

    def __reduce__(self) -> tuple[object, tuple[Any, ...]]:
        # Through the constructor, which makes the arrays read-only again.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        """Returns True if all columns are equal, including the names."""
        if not isinstance(other, HloGraph):
            return NotImplemented
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return all(a == b if isinstance(a, tuple) else np.array_equal(a, b) for a, b in pairs)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return (
            f"<hlograph.HloGraph: {self.num_nodes} nodes, {self.num_edges} edges, "
            f"{self.num_computations} computations>"
        )
