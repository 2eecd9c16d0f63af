"""XLA in process: modules, passes, graphs, cost, execution."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


TENSORFLOW_VERSION: str = '2.21.0'

class Pass:
    """One entry of the registry: XLA pass objects with fixed options."""

    @property
    def name(self) -> str: ...

    @property
    def xla_class(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def options(self) -> list[tuple[str, str]]: ...

    @property
    def requires_pass(self) -> str: ...

    @property
    def numerics(self) -> str: ...

    @property
    def acts_on(self) -> list[str]: ...

def registry() -> list[Pass]:
    """
    All passes, in the order of their action numbers. Raises HloError if a name is misspelt.
    """

def check_names(noun: str, entries: Sequence[tuple[str, Sequence[str]]]) -> None:
    """
    Raises HloError if two entries have one name, or if one refers to a name that none has.
    """

class Rule:
    """Rewrite rule: XLA's code, or an identity, applied at one place."""

    @property
    def name(self) -> str: ...

    @property
    def xla_code(self) -> str: ...

    @property
    def equation(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def for_target(self) -> bool: ...

    @property
    def for_time(self) -> bool: ...

    @property
    def kernel(self) -> str: ...

    @property
    def exact(self) -> bool: ...

class Rewrite:
    """
    A rule, the place where it applies, and the effect of applying it there.
    """

    @property
    def rule(self) -> str: ...

    @property
    def instruction(self) -> str: ...

    @property
    def other(self) -> str: ...

    @property
    def added(self) -> int: ...

    @property
    def removed(self) -> int: ...

    @property
    def flops(self) -> float: ...

    @property
    def bytes(self) -> float: ...

    @property
    def work(self) -> list[tuple[int, float]]: ...

    @property
    def gone(self) -> list[str]: ...

def rules() -> list[Rule]:
    """
    All rules, in the order of their numbers. Raises HloError if two have one name or position.
    """

def rewrites(module: Module, rules: Sequence[Rule]) -> list[Rewrite]:
    """Returns the rewrites by these rules that apply now."""

def rewrites_anew(module: Module, rules: Sequence[Rule], alone: bool) -> list[Rewrite]:
    """
    The same, without using known outcomes; with alone=True each rewrite is tried on a copy of
    its own.
    """

def propose(module: Module, rules: Sequence[Rule]) -> list[Rewrite]:
    """
    Returns the candidates of rewrites() without trying them: only rules and places are set.
    """

def work_features() -> list[str]:
    """Names of the features of work, in the order of their numbers."""

def work(module: Module) -> list[tuple[int, float]]:
    """Returns the work of one run: features and their amounts."""

def apply(module: Module, rule: Rule, instruction: str, other: str) -> bool:
    """Applies one; returns False if it does not apply."""

def sweep(module: Module, rule: Rule, fewer: bool) -> int:
    """
    Applies a rule at all places where it applies now, or with fewer=True at those where that
    leaves fewer instructions; returns at how many.
    """

class Module:
    """An HLO module held by XLA."""

    @staticmethod
    def from_text(text: bytes, isolated: bool = False) -> Module | None:
        """
        Returns None if XLA may end the process on this text: then it is to be parsed in
        a process that may end, with isolated=True.
        """

    @staticmethod
    def from_proto(serialized: bytes, isolated: bool = False) -> Module | None:
        """Returns None as from_text does."""

    @property
    def name(self) -> str: ...

    @property
    def op_count(self) -> int: ...

    def op_counts(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]: ...

    def to_text(self, metadata: bool) -> str: ...

    def to_proto(self) -> bytes: ...

    def clone(self) -> Module: ...

    def fingerprint(self, cached: bool = True) -> str: ...

    def structure(self) -> str: ...

    def verify(self) -> None: ...

    def cost(self) -> tuple[float, float, float]:
        """Flops, transcendentals and bytes accessed."""

    def state(self) -> tuple[str, int, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C')]]:
        """Fingerprint, op count and float op counts."""

    def surroundings(self) -> str: ...

    def run(self, pass_: Pass) -> bool: ...

    def run_and_look(self, pass_: Pass) -> tuple[bool, float, tuple[str, int, Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C')]] | None]:
        """
        Returns whether the pass reported a change, its seconds, and the state unless it is as
        before.
        """

    def dump_cpu_passes(self, directory: str, disabled: Sequence[str]) -> list[tuple[str, str, bool]]:
        """
        Has XLA:CPU write the module after each of its own passes into a folder; returns
        (pipeline, pass, changed) of each pass that it ran.
        """

MAX_BYTES: int = 2147483647

MAX_NESTING: int = 256

MAX_ELIDED_ELEMENTS: int = 268435456

MAX_DEVICES: int = 16777216

def opcodes() -> list[str]:
    """XLA's opcodes, in the order of op_counts."""

def element_types() -> list[str]:
    """XLA's element types; empty for unused numbers."""

def graph(module: Module) -> dict[str, object]:
    """
    The module as arrays; see hlograph.HloGraph for what each column holds.
    """

def features(module: Module) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C')], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None, 2))]]:
    """
    Node features [N, F], edge features [E, 2] and links [E, 2] of the module's graph; see
    hlograph.graph.features.
    """

def kernel_inputs(kernels: Sequence[tuple[Module | None, bytes]], rates: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32], NDArray[numpy.int64], NDArray[numpy.float32], NDArray[numpy.int64]]:
    """
    Inputs of kernels, given as modules and their texts, or None for loops and branches of
    other kernels; see hlograph.profiling.kernel_inputs.
    """

def attribute_names() -> list[str]:
    """Names of the attribute keys, in order."""

def trait_names() -> list[str]:
    """Names of the traits, by bit."""

class Program:
    """A module compiled by XLA:CPU."""

    @staticmethod
    def compile(module: Module, disabled_passes: Sequence[str], strict: bool, optimization_level: int) -> Program: ...

    @staticmethod
    def compile_for_speed(module: Module, lowered: bool) -> Program:
        """
        As XLA:CPU compiles when it is asked for nothing; a lowered module keeps its
        fusions.
        """

    def steps(self) -> list[tuple[str, str]]:
        """(kind, instruction) of each step of the code."""

    def optimized(self) -> Module:
        """The module that the code was generated from."""

    def count_kernels(self) -> int:
        """
        Generated loops, copies and library calls; control flow's own, once each.
        """

    def run(self, inputs: list[bytes]) -> list[bytes]:
        """
        Bytes of the result's leaves, from those of the parameters' leaves; row-major.
        """

    def timed(self, inputs: list[bytes]) -> TimedProgram:
        """The program with these inputs, to be timed."""

class TimedProgram:
    """A program with inputs on XLA's device."""

    def seconds(self, runs: int) -> float:
        """Wall seconds of one run, the median over so many."""

def count_kernels(module: Module) -> int:
    """
    The same of a module that is to be compiled as lowered, but for copies.
    """

def lower(module: Module) -> Module:
    """What XLA:CPU makes of a module before fusion."""

def signature(module: Module) -> tuple[list[tuple[str, list[int], list[int]]], list[tuple[str, list[int], list[int]]]]:
    """
    (element type, dimensions, index) of the leaves of parameters and result; the index of a
    parameter's leaf begins with the parameter's number.
    """

def evaluate(module: Module, inputs: list[bytes], max_seconds: float) -> list[bytes]:
    """The same as Program.run, by XLA's reference evaluator."""
