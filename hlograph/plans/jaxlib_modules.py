"""Modules of the user's jaxlib: text, protos and fingerprints."""

from __future__ import annotations

import hashlib
import importlib
import re
from typing import Any

from hlograph.errors import HloError, PlanError
from hlograph.plans.literals import literals as literals_of
from hlograph.reading.hlo_editing import ModuleText

_NAME = re.compile(r"HloModule [^\s,]+")


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
    options = _hlo().HloPrintOptions()
    options.print_large_constants = literals
    options.print_metadata = False
    options.print_backend_config = True
    return read(proto).to_string(options)


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


def fingerprint(proto: bytes) -> str:
    """Returns a hash of the module that does not depend on its name and source locations.

    ``Module.fingerprint`` needs the XLA that hlograph links, which may be too old to read a module
    that the jaxlib of the user has optimized. This hash depends on the names of the instructions,
    since placements do.
    """
    digest = hashlib.sha256(_NAME.sub("", text_of(proto, literals=False), count=1).encode())
    for name, literal in sorted(literals_of(proto).items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(literal).digest())
    return digest.hexdigest()[:32]
