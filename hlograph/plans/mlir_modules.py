"""MLIR modules of jaxlib: parsing, bytecode, and the attributes of a program's arguments.

jax is imported here when a function is called, so that ``import hlograph`` needs no jax.
"""

from __future__ import annotations

import io
from typing import Any

from hlograph.errors import HloParseError
from hlograph.execution.equivalence.arrays import Signature

MAIN = "main"
"""Name of the function that XLA compiles as the entry computation."""

# Attributes that XLA reads or writes as facts about arrays of the whole program. Others describe
# the module for a person (jax.result_info) or are made again by XLA.
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")
_ALIASES = "mhlo.input_output_alias"

# Written by XLA's conversion from HLO; these entry layouts are no requirement of the program.
_ENTRY_LAYOUTS = tuple(
    f"mhlo.xla_entry_computation_{what}"
    for what in ("parameter_layouts", "parameter_tiles", "result_layout", "result_tiles")
)
_LAYOUT_MODE = "mhlo.layout_mode"
_MESH = "sdy.mesh"


def parse(data: bytes) -> Any:
    """Returns the ``ir.Module`` of StableHLO text or bytecode, in a context of its own.

    Raises:
        HloParseError: jaxlib does not read it.
    """
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    with make_ir_context():
        try:
            return ir.Module.parse(data)
        except ir.MLIRError as error:
            raise HloParseError(f"jaxlib does not read this StableHLO: {error}") from error


def to_bytecode(module: Any) -> bytes:
    """Returns the bytecode of an ``ir.Module``."""
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def renamed(data: bytes, name: str) -> bytes:
    """Returns StableHLO with another module name."""
    from jaxlib.mlir import ir

    module = parse(data)
    with module.context:
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
    return to_bytecode(module)


def name_of(module: Any) -> str:
    """Returns the name of an ``ir.Module``; empty if it has none."""
    from jaxlib.mlir import ir

    attributes = module.operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""


def donated_arguments(module: Any) -> tuple[int, ...]:
    """Returns the numbers of the arguments whose buffers the program may reuse.

    jax says so at each argument, and XLA's conversion from HLO in a table of the module.
    """
    with module.context:
        marked = {
            number
            for number, attributes in enumerate(main_of(module).arg_attrs)
            if any(name in attributes for name in _DONATED)
        }
        table = module.operation.attributes
        rows = list(table[_ALIASES]) if _ALIASES in table else []
        return tuple(sorted(marked | {row["alias"]["parameter_number"].value for row in rows}))


def has_aliases(data: bytes) -> bool:
    """Returns True if StableHLO bytecode may have a table of aliases."""
    return _ALIASES.encode() in data


def with_flat_aliases(data: bytes, signature: Signature) -> bytes:
    """Returns StableHLO that XLA converted from HLO, with aliases of its own arguments and results.

    The conversion makes one argument of each leaf of a tuple, and leaves the table of aliases as it
    was, which no longer fits then.

    Args:
        data: The StableHLO.
        signature: Signature of the HLO.
    """
    from jaxlib.mlir import ir

    module = parse(data)
    arguments = {spec.path: number for number, spec in enumerate(signature.parameters)}
    results = {spec.path: number for number, spec in enumerate(signature.results)}
    with module.context:
        rows: list[str] = []
        for row in module.operation.attributes[_ALIASES]:
            alias = row["alias"]
            path = (alias["parameter_number"].value, *alias["parameter_index"])
            result = tuple(row["output_index"])
            if path not in arguments or result not in results:
                continue  # of a whole tuple, whose buffer only holds pointers
            index = f": {results[result]}" if len(results) > 1 else ""
            rows.append(
                f"{{alias = {{kind = {alias['kind']}, parameter_index = array<i64>, "
                f"parameter_number = {arguments[path]} : i64}}, output_index = array<i64{index}>}}"
            )
        table = ir.Attribute.parse(f"[{', '.join(rows)}]")
        module.operation.attributes[_ALIASES] = table
    return to_bytecode(module)


def copy_signature(source: Any, target: Any) -> None:
    """Gives the entry function of one module the argument and result attributes of another one.

    XLA's conversion from HLO loses them: donation, shardings, layouts and names of results. The
    alias table that it writes instead is removed, since donation would be there twice.

    Args:
        source: The ``ir.Module`` with the attributes.
        target: The ``ir.Module`` that is changed; it has the same arguments and results.

    Raises:
        ValueError: The entry functions have different types.
    """
    from jaxlib.mlir import ir

    old, new = main_of(source), main_of(target)
    if str(old.type) != str(new.type):
        raise ValueError(
            f"expected an entry function of type {str(old.type)[:300]}, got {str(new.type)[:300]}"
        )
    with target.context:
        _copy_meshes(source, target)
        for name in ("arg_attrs", "res_attrs"):
            if name in old.operation.attributes:
                text = str(old.operation.attributes[name])
                new.operation.attributes[name] = ir.Attribute.parse(text)
        attributes = target.operation.attributes
        if _ALIASES in attributes:
            del attributes[_ALIASES]
        for name in _ENTRY_LAYOUTS:
            if name in attributes and name not in source.operation.attributes:
                del attributes[name]
        for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
            if name in source.operation.attributes:
                text = str(source.operation.attributes[name])
                attributes[name] = ir.Attribute.parse(text)


def _copy_meshes(source: Any, target: Any) -> None:
    """Gives a module the meshes of devices of another one, which shardings name."""
    from jaxlib.mlir import ir

    for operation in source.body.operations:
        if operation.operation.name == _MESH:
            mesh = ir.Operation.parse(str(operation), context=target.context)
            ir.InsertionPoint.at_block_begin(target.body).insert(mesh)


def set_layout(module: Any, is_result: bool, number: int, layout: str) -> None:
    """Sets the layout of an argument or a result, as ``jax.experimental.layout.Format`` does.

    Args:
        module: The ``ir.Module``; it is changed.
        is_result: True for a result, False for an argument.
        number: Its number, from 0.
        layout: Minor-to-major order, such as ``{0,1}``.

    Raises:
        ValueError: There is no such argument or result, or the layout does not fit it.
    """
    from jaxlib.mlir import ir

    main = main_of(module)
    with module.context:
        types = main.type.results if is_result else main.type.inputs
        if number >= len(types):
            raise ValueError(f"expected a number below {len(types)}")
        kind = types[number]
        rank = kind.rank if isinstance(kind, ir.RankedTensorType) else -1
        if len(list(filter(None, layout.strip("{}").split(",")))) != rank:
            raise ValueError(f"expected one number for each dimension of {kind}")
        name = "res_attrs" if is_result else "arg_attrs"
        old = main.result_attrs if is_result else main.arg_attrs
        all_of = [{one.name: one.attr for one in attributes} for attributes in old]
        all_of[number][_LAYOUT_MODE] = ir.StringAttr.get(layout)
        new = ir.ArrayAttr.get([ir.DictAttr.get(attributes) for attributes in all_of])
        main.operation.attributes[name] = new


def main_of(module: Any) -> Any:
    """Returns the entry function of an ``ir.Module``."""
    from jaxlib.mlir import ir

    for operation in module.body.operations:
        attributes = operation.attributes
        if "sym_name" in attributes and ir.StringAttr(attributes["sym_name"]).value == MAIN:
            return operation
    raise ValueError(f"expected a module with a function {MAIN!r}")
