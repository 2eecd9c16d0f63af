"""The versions in PyTorch compute what the corpus' programs compute."""

import pytest
import torch

from benchmarks.beside_torch.catalogue import MODELS, chosen
from benchmarks.beside_torch.model import Model, repeated, whole
from benchmarks.beside_torch.program import (
    DisagreementError,
    Program,
    agreement,
    arguments_of,
    checked,
    eager,
)
from hlograph import corpus
from hlograph.errors import UnknownNameError

LARGE = (
    "resnet/keras-resnet50-224px/forward-b1",
    "convnext/keras-tiny-128px/forward-b1",
    "super-resolution/flax-b4-w32-b1-96px/train-adam",
)
"""Programs that take seconds to compile and run."""

SMALL = [name for name in MODELS if name not in LARGE]
COMPILED = (
    "depthwise-convolution/separable/grad-b4-n28-c96",
    "optimal-transport/potentials/n512-t100",
    "vit/keras-hub-vit-l6-h192-224px/forward-b1",
)


def check(name, compiler=eager):
    return checked(MODELS[name], Program.named(name), compiler)[1]


@pytest.mark.parametrize("name", SMALL)
def test_outputs_agree(name):
    assert check(name) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_outputs_of_large_networks_agree(name):
    assert check(name) < 1e-4


@pytest.mark.slow
# Inductor and dynamo warn of what they fall back to; what they return is what counts.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPILED)
def test_outputs_agree_when_compiled(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    assert check(name, torch.compile) < 1e-4


def test_programs_are_of_the_set_speed_and_of_many_families():
    speed = corpus.load("speed")
    assert set(MODELS) <= set(speed.names)
    assert len({speed[name].family for name in MODELS}) >= 14


@pytest.fixture(scope="module")
def forces():
    return Program.named("n-body/forces/n512")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: 1.001 * x, "relative difference of 0.001"),
        (lambda x: x[:5], r"expected outputs of shapes \[\(512, 3\)\], got \[\(5, 3\)\]"),
        (lambda x: x / 0, "not finite"),
    ],
)
def test_another_computation_is_an_error(forces, change, message):
    model = MODELS["n-body/forces/n512"]
    outputs = model.call(model.build(eager), arguments_of(model, forces))
    with pytest.raises(DisagreementError, match=message):
        agreement(model, forces, change(outputs))


def test_a_program_without_a_version_is_an_error():
    with pytest.raises(UnknownNameError, match="'nothing/like/it'"):
        chosen(["nothing/like/it"])


def test_no_name_means_all_programs():
    assert chosen([]) == list(MODELS.values())


def test_a_loop_has_a_compiled_step_and_keeps_constants():
    compiled = []

    def compiler(function):
        compiled.append(function)
        return function

    def step(state, rate):
        return (state * rate,)

    loop = repeated(step, 3, lambda x: (x, 2.0))(compiler)
    assert compiled == [step]
    assert loop(5.0) == (40.0, 2.0)


def test_only_what_differentiates_leaves_inference_mode():
    modes = [
        Model("any", whole(torch.is_inference_mode_enabled), gradient=gradient)
        for gradient in (False, True)
    ]
    assert [model.call(model.build(eager), ()) for model in modes] == [True, False]
