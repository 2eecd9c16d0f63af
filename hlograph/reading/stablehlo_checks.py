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


class Expectation(NamedTuple):
    """A value that a test expects.

    Attributes:
        kind: ``eq`` (equal), ``almost_eq`` (within ``tolerance``) or ``close`` (within units in
            the last place).
        tolerance: Largest difference for ``almost_eq``.
        ulps: Largest difference in units in the last place, for ``close``.
    """

    kind: str
    tolerance: float = 1e-4
    ulps: int = 3


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


def without_checks(data: bytes, *, pairs: bool = False, barriers: bool = False) -> Any:
    """Takes the expectations out of a StableHLO module, by jaxlib.

    Args:
        data: StableHLO text or bytecode.
        pairs: True for results with each expected value after the one that it is compared with.
        barriers: True keeps constants from being folded, so that code runs.

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
        if barriers:
            for function in functions:
                _add_barriers(function, ir, hlo)
        return module_to_bytecode(module), expectations


def _is_check(op: Any) -> bool:
    if op.operation.name != "stablehlo.custom_call":
        return False
    return op.operation.attributes["call_target_name"].value.startswith(TARGET)


def _expectation(op: Any) -> Expectation:
    attributes = op.operation.attributes
    kind = attributes["call_target_name"].value.removeprefix(TARGET).removeprefix("expect_")
    default = Expectation(kind)
    return Expectation(
        kind,
        attributes["tolerance"].value if "tolerance" in attributes else default.tolerance,
        attributes["max_ulp_difference"].value
        if "max_ulp_difference" in attributes
        else default.ulps,
    )


def _add_barriers(function: Any, ir: Any, hlo: Any) -> None:
    for op in list(function.regions[0].blocks[0].operations):
        if op.operation.name == "stablehlo.constant":
            (value,) = op.operation.results
            with ir.InsertionPoint.after(op):
                barrier = hlo.OptimizationBarrierOp([value])
            value.replace_all_uses_except(barrier.results[0], barrier.operation)
