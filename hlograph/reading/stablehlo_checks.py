"""Expectations in StableHLO, as its own tests have them: found, taken out, and kept.

The dialects ``check`` and ``interpreter`` are not in jaxlib. Their operations are rewritten in the
text, to custom calls whose targets begin with ``check.``, as the tests that jax writes have them.
In the module each such call is taken out, and what it looks at becomes a result.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from hlograph.errors import HloParseError

TARGET = "check."
"""Begins the targets of custom calls that are expectations."""

_TYPE = r"tensor<(?:[^<>]|<[^<>]*>)*>"
_VALUE = r"%[\w$.#\-]+"
_EXPECT = re.compile(
    rf"\bcheck\.expect_(eq|almost_eq|close)(_const)?\s*({_VALUE})\s*,\s*(.*?)\s*:\s*({_TYPE})"
    rf"(?:\s*,\s*{_TYPE})?(\s*\{{[^}}]*\}})?",
    re.S,
)
_LIMITS = re.compile(r"\b(tolerance|min_ulp_difference|max_ulp_difference)\s*=\s*([\w.+\-]+)")
_PROBE = re.compile(rf'\binterpreter\.probe\s+({_VALUE})\s*,\s*probe_id\s*=\s*"[^"]*"\s*:\s*')
_NO_VALUE = re.compile(r"^[ \t]*(?:interpreter\.print|check\.expect_serialized_eq)\b[^\n]*\n", re.M)
_PARALLEL = re.compile(r'"?interpreter\.run_parallel"?')
_FUNCTION = re.compile(r'\bfunc\.func\s+(?:(public|private|nested)\s+)?@([\w.$\-]+|"[^"]*")')
_MAIN = "main"
_FIELDS = {
    "tolerance": "tolerance",
    "max_ulp_difference": "ulps",
    "min_ulp_difference": "least_ulps",
}
_MANTISSA_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


class Expectation(NamedTuple):
    """A value that a test expects.

    Attributes:
        kind: ``eq`` (equal), ``almost_eq`` (within ``tolerance``) or ``close`` (within units in
            the last place).
        tolerance: Largest difference for ``almost_eq``.
        ulps: Largest difference in units in the last place, for ``close``.
        least_ulps: Smallest one, for tests of how the difference is counted.
    """

    kind: str
    tolerance: float = 1e-4
    ulps: int = 3
    least_ulps: int = 0


def public_functions(text: str) -> list[str]:
    """Returns the names of the functions of StableHLO that may be its entry, in order."""
    return [name for access, name in _FUNCTION.findall(text) if access in ("", "public")]


def with_main(text: str, function: str) -> str:
    """Returns StableHLO with a public function as its entry, and the others private."""
    if function == _MAIN:
        return text

    def private(match: re.Match[str]) -> str:
        if match[2] == function or match[1] == "private":
            return match[0]
        return f"func.func private @{match[2]}"

    text = _FUNCTION.sub(private, text)
    return re.sub(rf"@{re.escape(function)}(?![\w.$\-])", f"@{_MAIN}", text)


def with_custom_calls(text: str) -> tuple[str, int]:
    """Returns StableHLO without the dialects ``check`` and ``interpreter``.

    Args:
        text: StableHLO.

    Returns:
        The text, with expectations as custom calls, and their number.
    """
    number = 0

    def rewritten(match: re.Match[str]) -> str:
        nonlocal number
        number += 1
        kind, const, value, rest, type_, attributes = match.groups()
        limits = dict(_LIMITS.findall(rest.rpartition(">")[2] if const else rest))
        limits |= dict(_LIMITS.findall(attributes or ""))
        expected, constant = rest.partition(",")[0].strip(), ""
        if const:
            literal = rest[: rest.rindex(">") + 1] if ">" in rest else expected
            expected = f"%hlograph_expected_{number}"
            constant = f"{expected} = stablehlo.constant {literal} : {type_} "
        given = "".join(f", {key} = {_typed(key, limit)}" for key, limit in limits.items())
        return (
            f"{constant}stablehlo.custom_call @{TARGET}expect_{kind}({value}, {expected}) "
            f"{{has_side_effect = true{given}}} : ({type_}, {type_}) -> ()"
        )

    text = _EXPECT.sub(rewritten, text)
    text = _PROBE.sub(r"stablehlo.optimization_barrier \1 : ", text)
    return _NO_VALUE.sub("\n", text), number


def _typed(key: str, limit: str) -> str:
    return f"{float(limit)!r} : f64" if key == "tolerance" else f"{limit} : i64"


def check_devices(text: str, name: str) -> None:
    """Checks that StableHLO is for one device.

    Raises:
        HloParseError: It runs programs side by side.
    """
    if _PARALLEL.search(text):
        raise HloParseError(
            f"{name} runs programs on several devices (interpreter.run_parallel); expected a "
            "program for one. Its other functions can be chosen by name"
        )


def without_checks(
    data: bytes, *, pairs: bool = False, barriers: bool = False, normal: bool = False
) -> Any:
    """Takes the expectations out of a StableHLO module, by jaxlib.

    Args:
        data: StableHLO text or bytecode.
        pairs: True for results with each expected value after the one that it is compared with.
        barriers: True keeps constants from being folded, so that code runs.
        normal: True puts the smallest normal numbers in place of subnormal ones in constants.

    Returns:
        The bytecode, whose entry also returns the values that are looked at, and the expectations.

    Raises:
        Exception: jaxlib does not read the data, as classes of jaxlib.
    """
    from jax._src.interpreters.mlir import make_ir_context, module_to_bytecode
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func
    from jaxlib.mlir.dialects import stablehlo as hlo

    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(data)
        functions = [op for op in module.body.operations if op.operation.name == "func.func"]
        main = next(f for f in functions if ir.StringAttr(f.attributes["sym_name"]).value == _MAIN)
        block = main.regions[0].blocks[0]
        checks = [op for op in block.operations if _is_check(op)]
        values: list[Any] = []
        for op in checks:
            values += list(op.operation.operands)[: 2 if pairs else 1]
        expectations = [_expectation(op) for op in checks]
        for op in checks:
            for result in op.operation.results:  # of the tests that return whether they passed
                with ir.InsertionPoint(op):
                    yes = ir.DenseElementsAttr.get_splat(result.type, ir.BoolAttr.get(True))
                    result.replace_all_uses_with(hlo.constant(yes))
            op.operation.erase()
        end = list(block.operations)[-1]
        results = [*end.operation.operands, *values]
        with ir.InsertionPoint(end):
            func.ReturnOp(results)
        end.operation.erase()
        inputs = [argument.type for argument in block.arguments]
        kind = ir.FunctionType.get(inputs, [value.type for value in results])
        main.attributes["function_type"] = ir.TypeAttr.get(kind)
        if "res_attrs" in main.attributes:
            del main.attributes["res_attrs"]
        for function in functions if barriers or normal else ():
            _change_constants(function, ir, hlo, barriers=barriers, normal=normal)
        return module_to_bytecode(module), expectations


def _is_check(op: Any) -> bool:
    if op.operation.name != "stablehlo.custom_call":
        return False
    return op.operation.attributes["call_target_name"].value.startswith(TARGET)


def _expectation(op: Any) -> Expectation:
    attributes = op.operation.attributes
    kind = attributes["call_target_name"].value.removeprefix(TARGET).removeprefix("expect_")
    given = {key: attributes[key].value for key in _FIELDS if key in attributes}
    # Numbers of 64 bits are read as signed.
    return Expectation(
        kind,
        **{_FIELDS[key]: n % 2**64 if isinstance(n, int) else n for key, n in given.items()},
    )


def _change_constants(function: Any, ir: Any, hlo: Any, *, barriers: bool, normal: bool) -> None:
    for op in list(function.regions[0].blocks[0].operations):
        if op.operation.name != "stablehlo.constant":
            continue
        (value,) = op.operation.results
        uses = [(use.owner, use.operand_number) for use in value.uses]
        with ir.InsertionPoint.after(op):
            changed = hlo.OptimizationBarrierOp([value]).results[0] if barriers else value
            if normal:
                changed = _normal(changed, ir, hlo)
        for user, number in uses:
            user.operands[number] = changed


def _normal(value: Any, ir: Any, hlo: Any) -> Any:
    """Returns a value with the smallest normal numbers for subnormal ones, by their bits."""
    mantissa_bits = _MANTISSA_BITS.get(str(value.type.element_type))
    if mantissa_bits is None:
        return value
    integer = ir.IntegerType.get_signless(value.type.element_type.width)
    type_ = ir.RankedTensorType.get(value.type.shape, integer)

    def number(bits: int) -> Any:
        return hlo.constant(
            ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(integer, bits))
        )

    def compared(size: Any, direction: str, bits: int) -> Any:
        return hlo.compare(size, number(bits), hlo.ComparisonDirectionAttr.get(direction))

    smallest, lowest = 1 << mantissa_bits, -(1 << (integer.width - 1))
    bits = hlo.bitcast_convert(type_, value)
    size = hlo.and_(bits, number(~lowest))
    subnormal = hlo.and_(compared(size, "LT", smallest), compared(size, "GT", 0))
    signed = hlo.or_(hlo.and_(bits, number(lowest)), number(smallest))
    return hlo.bitcast_convert(value.type, hlo.select(subnormal, signed, bits))
