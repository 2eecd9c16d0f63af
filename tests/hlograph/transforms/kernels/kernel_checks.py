"""The check of a rule of native kernels: jaxlib's run of the kernel beside XLA's evaluator."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import hlograph
from hlograph.execution.equivalence.arrays import FLOATS, Array, ArraySpec, signature_of
from hlograph.execution.equivalence.engines import Limits, make_runner
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.equivalence.reference import Outputs
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.equivalence.verdict import EngineName, Verdict
from hlograph.execution.runs import Run
from hlograph.plans import Program
from hlograph.plans.compiling import compile_program
from hlograph.plans.native_kernels import PREFIX

SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0)


def _inputs(
    module: hlograph.Module, samples: int, seed: int, *, special: bool
) -> Iterator[list[Array]]:
    """Yields random inputs: ordinary ones, in turns with those that have special values."""
    signature = signature_of(module)
    maker = InputMaker(Flow(module.graph()), signature.parameters)
    for sample in range(samples):
        inputs = maker.make(seed, sample)
        if special and sample % 2:
            rng = np.random.default_rng([seed, sample])
            inputs = [
                _with_special_values(rng, array, spec)
                for array, spec in zip(inputs, signature.parameters, strict=True)
            ]
        yield inputs


def _with_special_values(rng: np.random.Generator, array: Array, spec: ArraySpec) -> Array:
    if spec.element_type not in FLOATS:
        return array
    array = (np.round(array * 2) / 2).astype(array.dtype)
    chosen = rng.random(array.shape) < 0.3
    values = rng.choice(np.array(SPECIAL, np.float64), array.shape).astype(array.dtype)
    return np.where(chosen, values, array)


def _executable(module: hlograph.Module) -> Any:
    return compile_program(Program(module.name, "hlo", module.to_proto()))


def _expected(original: hlograph.Module, inputs: list[list[Array]]) -> Outputs:
    """Returns outputs by XLA's evaluator, or by what can run the original instead.

    That is the engine's XLA:CPU for top-k, and jaxlib for calls of LAPACK and Fourier transforms
    of double precision.
    """
    signature = signature_of(original)
    text = original.to_text()
    if "lapack_" in text or ("fft_type" in text and "c128" in text):
        executable = _executable(original)
        return Outputs(signature, inputs, lambda arrays: Run(executable, arrays).outputs())
    engine: EngineName = "compiled" if "topk" in original.opcodes() else "evaluator"
    return Outputs(signature, inputs, make_runner(engine, original, signature, Limits()))


def kernel_verdicts(
    module: hlograph.Module,
    original: hlograph.Module,
    samples: int = 2,
    seed: int = 0,
    *,
    special: bool = True,
) -> list[Verdict]:
    """Returns how a module with kernels, run by jaxlib, compares with the evaluated original.

    Args:
        module: The module with kernels.
        original: The module without, of instructions that the evaluator can run.
        samples: Number of inputs.
        seed: Seed of the inputs.
        special: True gives every second input equal elements, NaNs, infinities and zeros of both
            signs.

    Returns:
        The verdict of each sample, the worst of its outputs.
    """
    inputs = list(_inputs(original, samples, seed, special=special))
    outputs = _expected(original, inputs)
    executable = _executable(module)
    error = rounding_count(Flow(original.graph())).bound()
    verdicts: list[Verdict] = []
    for number, arrays in enumerate(inputs):
        judged = outputs.judge(number, Run(executable, arrays).outputs(), error)
        worst = max(judged, key=lambda one: one.badness, default=None)
        verdicts.append(worst.verdict if worst else "equal")
    return verdicts


def outputs_of(module: hlograph.Module, inputs: Sequence[Array]) -> list[Array]:
    """Returns the outputs of a module in jaxlib."""
    return Run(_executable(module), inputs).outputs()


def with_kernels(rule: str, text: str) -> tuple[hlograph.Module, hlograph.Module]:
    """Returns a program, and the same with kernels wherever a rule applies."""
    module = hlograph.Module.from_text(text)
    module.verify()
    rewritten = module.clone()
    rewrites = module.rewrites([rule])
    assert rewrites, text
    for rewrite in rewrites:
        rewritten.apply(rewrite)
    rewritten.verify()
    return module, rewritten


def check_kernel(rule: str, text: str, allowed: tuple[Verdict, ...], seed: int = 0) -> None:
    """Asserts that a rule of a kernel is listed for a program, and that its kernel is right.

    Args:
        rule: Name of the rule.
        text: HLO text of the program.
        allowed: Verdicts that the comparison with the original may have.
        seed: Seed of the inputs.
    """
    module, rewritten = with_kernels(rule, text)
    assert PREFIX in rewritten.to_text()
    special = hlograph.rules[rule].exact
    verdicts = kernel_verdicts(rewritten, module, seed=seed, special=special)
    assert set(verdicts) <= set(allowed), f"{verdicts}\n{text}"
