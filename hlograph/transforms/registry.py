"""The registry of XLA passes.

``hlograph.passes`` is the registry: a sequence whose index is the action number of the
environments, and a lookup by name::

    >>> import hlograph
    >>> hlograph.passes["algsimp"].xla_class
    'AlgebraicSimplifier'
    >>> print(hlograph.passes)  # the whole table

Every entry is an XLA pass object with fixed options under XLA's name of the pass. Entries that
differ in options have a variant after a colon (``gather_expander:simple``). Passes for one target
only (layout assignment, fusion, copy insertion, scheduling) and passes that need assigned layouts
(reshape and reduce decomposition) are not in the registry.

Random walks over the corpus (``tests.campaigns.fuzz_passes``) check every entry: an error leaves
the module as it was, a report of no change is true, XLA's verifier accepts the result, and the same
passes give the same module in every process. If XLA's pass fails a check, the entry

* runs another pass first (``Pass.requires``), as ``algsimp`` and the gather and scatter passes do;
* or corrects it: ``algsimp:raise-through-dot`` removes unused dots that XLA creates,
  ``topk-decomposer`` skips instructions that it would turn into an invalid sort, ``rng-expander``
  has a fixed key instead of one of the process's generator, the float normalizations report the
  computations that they clone, ``algsimp`` clamps indices of slices of slices;
* or returns an error: ``algsimp`` where a window only crops, or pads what a pad crops,
  ``simplify-while-loops`` where XLA counts the iterations of a loop wrongly;
* or is left out: ``algsimp`` with ``use_associative_reordering`` (adds instructions on every run
  and reports no change), ``constant_folding`` of level ``kAggressive`` (evaluates loops that do not
  terminate, and arrays of any size).

Reports of a change may be wrong. For example, ``while-loop-trip-count-annotator`` reports a change
when it writes an annotation that is already there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.errors import UnknownNameError
from hlograph.graph.vocabulary import OPCODES
from hlograph.transforms.pass_claims import PassClaim, claim_of

if TYPE_CHECKING:
    from hlograph import _xla


class Entry(Protocol):
    """Entry of a ``Named`` sequence."""

    @property
    def name(self) -> str:
        """Name of the entry, unique in the sequence."""
        ...

    @property
    def index(self) -> int:
        """Position of the entry in the sequence."""
        ...


E = TypeVar("E", bound=Entry)


class Named(Sequence[E], Generic[E]):
    """Immutable sequence of entries that can also be looked up by name.

    Args:
        kind: Kind of the entries for error messages, such as "pass".
        load: Function that yields the entries, in order. It is called on first use, because it
            loads the engine.
    """

    def __init__(self, kind: str, load: Callable[[], Iterable[E]]) -> None:
        self._kind, self._load = kind, load

    @cached_property
    def _entries(self) -> tuple[E, ...]:
        return tuple(self._load())

    @cached_property
    def _by_name(self) -> dict[str, E]:
        return {entry.name: entry for entry in self._entries}

    @overload
    def __getitem__(self, key: int | str) -> E: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[E, ...]: ...
    def __getitem__(self, key: int | str | slice) -> E | tuple[E, ...]:
        if isinstance(key, str):
            try:
                return self._by_name[key]
            except KeyError:
                raise UnknownNameError.of(self._kind, key, self._by_name) from None
        return self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, value: object) -> bool:
        return value in self._by_name if isinstance(value, str) else value in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._by_name)

    def __str__(self) -> str:
        return "\n".join(f"{entry.index:3d}  {entry}" for entry in self._entries)


Numerics = Literal["exact", "reassociating", "approximate"]


@dataclass(frozen=True, slots=True)
class Pass:
    """One entry of the registry.

    Attributes:
        name: XLA's name of the pass, with ``:variant`` where options differ.
        description: Effect of the pass, in one line.
        xla_class: The C++ class, in namespace ``xla``.
        options: Options that differ from XLA's default, as (name, value) texts.
        requires: Name of the entry that runs first, because XLA's pass would fail or abort on some
            valid modules without it; None for most.
        numerics: Effect on the bits of a module's results. ``exact``: none; the same operations on
            the same numbers. ``reassociating``: the same expression over the reals with sums in
            another order, on some modules at least; results differ by rounding. ``approximate``:
            another function, algorithm or precision. Checked on the modules of docs/numerics.md.
        acts_on: Opcodes that the pass acts on. It changes nothing in a module without any of them.
            Empty if it may act on any module. Checked on the corpus by the tests.
        index: Position in the registry: the action number.
    """

    name: str
    description: str
    xla_class: str
    options: tuple[tuple[str, str], ...]
    requires: str | None
    numerics: Numerics
    acts_on: tuple[str, ...]
    index: int
    _native: _xla.Pass = field(repr=False, compare=False)

    @property
    def claim(self) -> PassClaim:
        """Returns what the pass may change of a module's results, in words and by kind."""
        return claim_of(self.name)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.name}: {self.description} [{self.xla_class}({options}); {self.numerics}]"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # The native handle cannot leave its process; the name identifies the pass in another.
        return _entry, (self.name,)


class Registry(Named[Pass]):
    """Registry of all passes, by action number and by name."""

    def index(self, value: Pass | str, start: int = 0, stop: int | None = None) -> int:
        """Returns the action number of an entry or a name, as ``list.index`` does."""
        entry = self[value] if isinstance(value, str) else value
        return self._entries.index(entry, start, len(self) if stop is None else stop)

    @property
    def exact(self) -> tuple[str, ...]:
        """Names of the passes that change no bit of a module's results (``Pass.numerics``).

        ``PassOrderingEnv(actions=hlograph.passes.exact)`` uses only these. They are exact if
        instructions run as they are written, as in XLA's reference evaluator. A compiler may fuse
        or order the resulting instructions in another way, and so round differently.
        """
        return tuple(entry.name for entry in self if entry.numerics == "exact")

    def may_act(self, op_counts: NDArray[np.number]) -> NDArray[np.bool_]:
        """Returns a mask of the passes that act on one of a module's opcodes (``Pass.acts_on``).

        Args:
            op_counts: Instructions by opcode, ``[len(hlograph.OPCODES)]``, as from
                ``Module.op_counts``.

        Returns:
            bool ``[len(self)]``; a pass with False changes nothing.
        """
        return op_counts @ self.acts_on > 0

    @cached_property
    def acts_on(self) -> NDArray[np.float32]:
        """Float32 ``[len(hlograph.OPCODES), len(self)]`` with 1 if the pass acts on the opcode."""
        numbers = {opcode: number for number, opcode in enumerate(OPCODES)}
        acts_on = np.zeros((len(OPCODES), len(self)), np.float32)
        for entry in self:
            acts_on[[numbers[opcode] for opcode in entry.acts_on or OPCODES], entry.index] = 1
        return acts_on

    def __repr__(self) -> str:
        return f"<{len(self)} XLA passes: {', '.join(self.names[:4])}, ...>"


def _entry(name: str) -> Pass:
    return passes[name]


def _load() -> Iterator[Pass]:
    for index, entry in enumerate(native().registry()):
        yield Pass(
            name=entry.name,
            description=entry.description,
            xla_class=entry.xla_class,
            options=tuple(entry.options),
            requires=entry.requires_pass or None,
            numerics=cast(Numerics, entry.numerics),
            acts_on=tuple(entry.acts_on),
            index=index,
            _native=entry,
        )


passes = Registry("pass", _load)
"""The passes of the linked XLA."""
