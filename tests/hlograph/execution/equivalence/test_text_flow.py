"""The data flow that is read from text is that of the graph, for all that is asked of it."""

import pytest

from hlograph import HloError, Module, corpus
from hlograph.execution.equivalence.arrays import signature_of
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.equivalence.text_flow import TextFlow, signature_of_shapes
from hlograph.plans import jaxlib_modules
from tests.hlograph.samples import ALL, DYNAMIC

BENCHMARKS = corpus.load("speed")[::40]


def _both(module: Module) -> tuple[Flow, TextFlow]:
    text = jaxlib_modules.text_of(module.to_proto(), literals=False)
    return Flow(module.graph()), TextFlow(text)


def _check(module: Module) -> None:
    flow, read = _both(module)
    signature = signature_of(module)
    assert read.signature == signature
    assert signature_of_shapes(*jaxlib_modules.shapes_of(module.to_proto())) == signature
    assert rounding_count(read) == rounding_count(flow)
    assert (
        InputMaker(read, signature.parameters).uses == InputMaker(flow, signature.parameters).uses
    )
    assert sorted(read.opcodes) == sorted(name for name in flow.opcodes if name != "computation")


@pytest.mark.parametrize("name", sorted(ALL))
def test_samples(name: str):
    module = Module.from_text(ALL[name])
    try:
        signature_of(module)
    except HloError:
        with pytest.raises(HloError, match=r"fixed size|element type"):
            _ = _both(module)[1].signature
    else:
        _check(module)


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_programs_of_the_corpus(benchmark):
    _check(benchmark.load())


def test_a_dynamic_dimension_is_refused():
    with pytest.raises(HloError, match="fixed size"):
        _ = _both(Module.from_text(DYNAMIC))[1].signature
