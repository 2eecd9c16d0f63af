"""Modules of the user's jaxlib: text, protos, fingerprints, and constants carried between protos.

Text would lose what a NaN carries, and takes long for large constants. So an edited module is
printed without them, and they are put back byte by byte.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hlograph.errors import HloError, PlanError
from hlograph.reading.hlo_editing import ModuleText
from hlograph.reading.hlo_text import read_module, with_renamed_calls
from hlograph.reading.wire_format import field, fields

# Field numbers: HloModuleProto.computations, HloComputationProto.instructions,
# HloInstructionProto.name, .opcode, .literal.
_COMPUTATIONS, _INSTRUCTIONS, _NAME, _OPCODE, _LITERAL = 3, 2, 1, 2, 8
_CONSTANT = bytes([_OPCODE << 3 | 2, len(b"constant")]) + b"constant"


def literals_in(proto: bytes) -> dict[str, bytes]:
    """Returns the serialized literals of a serialized ``HloModuleProto``, by instruction."""
    found: dict[str, bytes] = {}
    for _, computation in _of(proto, _COMPUTATIONS):
        for _, instruction in _of(computation, _INSTRUCTIONS):
            if not _may_be_constant(instruction):
                continue
            parts = {number: data for number, _, data in fields(instruction) if data is not None}
            if bytes(parts.get(_OPCODE, b"")) == b"constant" and _LITERAL in parts:
                found[bytes(parts[_NAME]).decode()] = bytes(parts[_LITERAL])
    return found


def with_literals(proto: bytes, values: Mapping[str, bytes]) -> bytes:
    """Returns a serialized ``HloModuleProto`` with other literals.

    Args:
        proto: The module.
        values: Serialized literals by the names of constants; other constants stay.
    """

    def instruction(data: memoryview) -> bytes:
        if not _may_be_constant(data):
            return bytes(data)
        parts = {number: part for number, _, part in fields(data) if part is not None}
        if bytes(parts.get(_OPCODE, b"")) != b"constant":
            return bytes(data)
        value = values.get(bytes(parts[_NAME]).decode())
        return bytes(data) if value is None else _edited(data, _LITERAL, lambda _: value)

    def computation(data: memoryview) -> bytes:
        return _edited(data, _INSTRUCTIONS, instruction)

    return _edited(memoryview(proto), _COMPUTATIONS, computation) if values else proto


def _may_be_constant(instruction: memoryview) -> bool:
    """Returns False if a serialized instruction has no field with the opcode of constants.

    To split its fields takes a hundred times as long.
    """
    return _CONSTANT in bytes(instruction)


def with_name(proto: bytes, name: str) -> bytes:
    """Returns a serialized ``HloModuleProto`` with another name."""
    return _edited(memoryview(proto), _NAME, lambda _: name.encode())


def name_of(proto: bytes) -> str:
    """Returns the name of a serialized ``HloModuleProto``, which is its first field."""
    number, _, name = next(fields(proto), (0, None, None))
    return bytes(name).decode(errors="replace") if number == _NAME and name is not None else ""


def _of(data: bytes | memoryview, number: int) -> Iterator[tuple[int, memoryview]]:
    return ((n, part) for n, _, part in fields(data) if n == number and part is not None)


def _edited(data: memoryview, number: int, edit: Callable[[memoryview], bytes]) -> bytes:
    out = bytearray()
    for tag, raw, payload in fields(data):
        if tag != number or payload is None:
            out += raw
            continue
        out += field(number, edit(payload))
    return bytes(out)


_HEADER = re.compile(r"HloModule [^\s,]+")


def _hlo() -> Any:
    # jaxlib ships no types for this module.
    return importlib.import_module("jaxlib._hlo")


def read(proto: bytes) -> Any:
    """Returns the ``jaxlib._hlo.HloModule`` of a serialized ``HloModuleProto``."""
    return _hlo().HloModule.from_serialized_hlo_module_proto(proto)


def text_of(proto: bytes, *, literals: bool = True) -> str:
    """Returns the module as HLO text by jaxlib, without metadata.

    Args:
        proto: Serialized ``HloModuleProto``.
        literals: False leaves out large constants, which take long to print.
    """
    return read(proto).to_string(_options(literals=literals))


def shapes_of(proto: bytes) -> tuple[list[str], str]:
    """Returns the shapes of a module's parameters and of its result, as XLA prints them."""
    shape = _hlo().XlaComputation(proto).program_shape()
    return [str(parameter) for parameter in shape.parameter_shapes()], str(shape.result_shape())


def _options(*, literals: bool) -> Any:
    options = _hlo().HloPrintOptions()
    options.print_large_constants = literals
    options.print_metadata = False
    options.print_backend_config = True
    return options


def module_text(proto: bytes) -> ModuleText:
    """Returns the text of a module to edit, without metadata and large constants.

    Raises:
        PlanError: jaxlib printed it in a form that is not known.
    """
    try:
        return ModuleText.parse(text_of(proto, literals=False))
    except HloError as error:
        raise PlanError(f"this module has an unknown form: {error}") from error


def proto_of(text: str) -> bytes:
    """Returns the serialized ``HloModuleProto`` of HLO text, parsed by jaxlib."""
    return _hlo().hlo_module_from_text(text).as_serialized_hlo_module_proto()


def program_fingerprint(proto: bytes) -> str:
    """Returns a hash of a module before XLA's optimizations, which depends on no name in it.

    It is that of the text that this jaxlib prints. ``Module.fingerprint``, which needs the engine,
    also is the same where instructions that do not depend on each other are in another order.
    """
    options = _options(literals=False)
    options.canonicalize_instruction_names = True
    header, computations = read_module(read(proto).to_string(options))
    digest = hashlib.sha256(_HEADER.sub("", header, count=1).encode())
    numbers = {each.name: str(number) for number, each in enumerate(computations)}
    for each in computations:
        for instruction in each.instructions:
            tail = with_renamed_calls(instruction.tail, numbers)
            digest.update(f"{instruction._replace(tail=tail)}\n".encode())
        digest.update(b"ENTRY\n" if each.is_entry else b"\n")
    for literal in literals_in(proto).values():
        digest.update(hashlib.sha256(literal).digest())
    return digest.hexdigest()[:32]


def fingerprint(proto: bytes) -> str:
    """Returns a hash of the module that does not depend on its name and source locations.

    ``Module.fingerprint`` needs the XLA that hlograph links, which may be too old to read a module
    that the jaxlib of the user has optimized. This hash depends on the names of the instructions,
    since placements do.
    """
    digest = hashlib.sha256(_HEADER.sub("", text_of(proto, literals=False), count=1).encode())
    for name, literal in sorted(literals_in(proto).items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(literal).digest())
    return digest.hexdigest()[:32]
