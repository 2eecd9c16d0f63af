"""References judge jaxlib's default: right programs, and known faults."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph._native import has_engine
from hlograph.execution.equivalence.verdict import Verdict
from hlograph.execution.runs import Run
from hlograph.isolation import FlightRecorder
from hlograph.measuring import evaluating, references
from hlograph.measuring.implementation_worker import Answers, ImplementationWorker
from hlograph.measuring.implementations import (
    DEFAULT,
    ENGINE,
    EVALUATOR,
    Implementation,
    plain_plan,
)
from hlograph.measuring.references import Vote, judge_default
from hlograph.measuring.trial import Job
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.known_faults import KNOWN_FAULTS, faults_of
from tests.hlograph.faulty_programs import DIES, NUMBERS, WRONG, folds_much
from tests.hlograph.measuring.reference_workers import QuickWorker, UnstableWorker

REPORTS = {
    "matvec": "jax#39103",
    "negative_padding": "xla#48713",
    "rank_7": "jax#40412",
    "broadcast_of_rank_7": "jax#39257",
    "slice_of_slice": "xla#49121",
    "crop_before_window": "xla#48715",
    "short_loop": "tensorflow#123067",
    "cropping_window": "xla#48719",
    "division_by_zero": "stablehlo#2971",
    "sort_of_two_bits": "sorts of 2 bits",
}


def _job(function, arguments):
    return Job(Program.of(jax.jit(function).lower(*arguments)), list(arguments))


def _faulty(name):
    """Returns the job of a faulty program, its fault, and what it has to compute.

    Skips where jaxlib does not have the fault.
    """
    function, arguments, expected = {**WRONG, **DIES}[name]()
    job = _job(function, arguments)
    faults = [fault for fault in faults_of(job.program.flow) if fault.name == REPORTS[name]]
    if not faults:
        pytest.skip("a later jaxlib has mended it")
    return job, faults[0], expected


@pytest.mark.parametrize("name", [*WRONG, *DIES])
def test_each_known_fault_is_there(name):
    job, fault, expected = _faulty(name)
    judgement = judge_default(job)
    assert judgement.verdict == ("differs" if name in WRONG else "dies")
    assert judgement.plan is not None
    assert judgement.plan.flags == fault.plan.flags
    assert judgement.plan.steps == fault.plan.steps
    assert fault.name in judgement.faults
    assert judgement.headline.startswith("jaxlib's default")
    if name in WRONG:
        (wrong,) = judgement.wrong
        assert 0 < wrong.count <= wrong.size
        assert wrong.kernel
        assert f"{wrong.count:,} of {wrong.size:,} elements" in judgement.reason
    executable = compile_program(job.program, judgement.plan)
    assert job.given is not None
    (output,) = Run(executable, job.given, job.program.donated).outputs()
    np.testing.assert_allclose(output.astype(expected.dtype), expected, rtol=1e-4, atol=1e-4)


def test_a_default_that_reads_wrong_memory_is_wrong():
    _faulty("negative_padding")
    image = np.random.default_rng(0).standard_normal((1, 1, 4096, 8), np.float32)
    kernel = np.eye(8, dtype=np.float32).reshape(1, 1, 8, 8)

    def far_outside(image, kernel):
        padding = [(0, 0), (-4000, 4000)]
        return jax.lax.conv_general_dilated(
            jnp.tanh(image), kernel, (1, 1), padding, dimension_numbers=NUMBERS
        )

    judgement = judge_default(_job(far_outside, [image, kernel]))
    assert judgement.verdict == "differs"  # from run to run, too, if that memory changes


def test_a_default_that_differs_from_itself_is_wrong(monkeypatch):
    monkeypatch.setattr(references, "ImplementationWorker", UnstableWorker)
    judgement = judge_default(_job(jnp.tanh, [np.linspace(-1.0, 1.0, 64, dtype=np.float32)]))
    assert judgement.verdict == "differs"
    assert judgement.unstable
    assert "differs from itself from run to run" in judgement.reason
    assert judgement.plan is not None  # with which it is right


def test_rounding_that_grows_is_no_wrong_memory():
    x = np.linspace(0.1, 0.9, 64, dtype=np.float32)

    def chaotic(x):
        step = lambda n, x: 3.9 * x * (1 - x)  # noqa: E731
        return jax.lax.fori_loop(0, 200, step, x).reshape(8, 8) @ jnp.ones((8, 8))

    judgement = judge_default(_job(chaotic, [x]), in_doubt=True)
    assert not judgement.unstable
    assert not judgement.is_against_default


def test_every_known_fault_has_a_program():
    assert {fault.name for fault in KNOWN_FAULTS} == set(REPORTS.values())


def test_the_default_of_a_right_program_agrees_with_the_plain_reference_alone():
    x = np.random.default_rng(0).standard_normal((8, 8), np.float32)
    judgement = judge_default(_job(lambda x: jnp.tanh(x @ x), [x]))
    assert judgement.verdict == "agrees"
    assert judgement.plan == Plan()
    assert len(judgement.implementations) == 2
    assert not judgement.is_against_default


@pytest.mark.skipif(not has_engine(), reason="needs the engine")
def test_all_references_are_asked_in_doubt():
    x = np.random.default_rng(0).standard_normal((8, 8), np.float32)
    judgement = judge_default(_job(lambda x: jnp.tanh(x).sum(0), [x]), in_doubt=True)
    assert judgement.verdict == "agrees"
    assert {"the engine's XLA", "XLA's evaluator", DEFAULT.name} <= set(judgement.implementations)
    assert set(judgement.implementations.values()) == {"right"}


@pytest.mark.skipif(not has_engine(), reason="needs the engine")
def test_the_evaluator_speaks_of_some_outputs_of_a_large_program(monkeypatch):
    monkeypatch.setattr(evaluating, "_EVALUATED", 3000)
    x = np.random.default_rng(0).standard_normal((64, 16), np.float32)
    job = _job(lambda x: jnp.tanh(x @ x.T), [x])
    worker = ImplementationWorker(job, "", FlightRecorder())
    plain = Implementation("plain", plain_plan(job.program))
    answers = worker.ask([plain, DEFAULT, EVALUATOR])
    assert answers.errors == {}
    assert answers.agree(EVALUATOR.name, DEFAULT.name)
    (spoken,) = worker.outputs_of(EVALUATOR)
    assert 0 < spoken.size < 64
    worker._outputs[EVALUATOR.name] = [spoken + 1]
    answers = worker.ask([DEFAULT, EVALUATOR])
    assert answers.differ(EVALUATOR.name, DEFAULT.name)
    (wrong,) = answers.wrong[EVALUATOR.name]
    assert wrong.count <= spoken.size


@pytest.mark.skipif(not has_engine(), reason="needs the engine")
@pytest.mark.parametrize("most", [4_000_000, 100])
def test_a_small_element_that_is_wrong_is_found(monkeypatch, most):
    monkeypatch.setattr(evaluating, "_EVALUATED", most)  # whole, or in regions
    x = np.linspace(0.5, 1, 64, dtype=np.float32).reshape(8, 8)
    x[0, 0] = 1e9
    worker = ImplementationWorker(_job(lambda x: jnp.tanh(x) * x, [x]), "", FlightRecorder())
    asked = [Implementation("plain", Plan(method="plain")), DEFAULT, ENGINE]
    worker.ask(asked)
    wrong = worker._outputs[DEFAULT.name][0].copy()
    wrong[3, 4] *= np.float32(1.1)  # at the scale of the array, nothing
    worker._outputs[DEFAULT.name] = [wrong]
    asked.append(EVALUATOR)
    judgement = Vote.of(asked, {}, worker.ask(asked)).decision()
    assert judgement is not None
    assert judgement.verdict == "differs"
    (elements,) = judgement.wrong
    assert (elements.count, elements.index) == (1, (3, 4))
    right = worker._outputs[ENGINE.name]
    worker._outputs[DEFAULT.name] = right
    judgement = Vote.of(asked, {}, worker.ask(asked)).decision()
    assert judgement is not None
    assert judgement.verdict == "agrees"


def test_the_evaluator_does_not_decide_alone_against_all_others():
    plain, names = Implementation("plain", Plan()), ("plain", DEFAULT.name, ENGINE.name)
    pairs: dict[frozenset[str], Verdict] = {
        frozenset(pair): "equal" for pair in itertools.combinations(names, 2)
    }
    pairs |= {frozenset((EVALUATOR.name, name)): "different" for name in names}
    answers = Answers({}, pairs, {EVALUATOR.name: []}, False)
    asked = [plain, DEFAULT, ENGINE, EVALUATOR]
    judgement = Vote.of(asked, {}, answers).decision()
    assert judgement is not None
    assert judgement.verdict == "no reference"
    assert "XLA's evaluator differs, alone" in judgement.reason
    supported = {**pairs, frozenset((EVALUATOR.name, ENGINE.name)): "close"}
    supported[frozenset((DEFAULT.name, ENGINE.name))] = "different"
    supported[frozenset(("plain", ENGINE.name))] = "different"
    judgement = Vote.of(asked, {}, answers._replace(verdicts=supported)).decision()
    assert judgement is not None
    assert judgement.verdict == "differs"


def test_a_default_that_is_not_comparable_is_not_wrong():
    plain = Implementation("plain", Plan())
    pairs: dict[frozenset[str], Verdict] = {
        frozenset(("plain", ENGINE.name)): "equal",
        frozenset(("plain", DEFAULT.name)): "not comparable",
        frozenset((ENGINE.name, DEFAULT.name)): "not comparable",
    }
    vote = Vote.of([plain, DEFAULT, ENGINE], {}, Answers({}, pairs, {}, False))
    assert vote.decision() is None
    assert vote.undecided().reason == "no reference: the outputs depend on rounding"


@pytest.mark.skipif(not has_engine(), reason="needs the engine")
@pytest.mark.parametrize("body", ["count-leading-zeros(x)", "power(x, x)"])
def test_a_fault_of_the_evaluator_is_none_of_the_default(body):
    text = f"""
    HloModule integers
    ENTRY e {{
      x = s16[5] parameter(0)
      ROOT n = s16[5] {body}
    }}
    """
    job = Job(Program.of(text), [np.array([-1, -3, 0, 1, 300], np.int16)])
    judgement = judge_default(job, in_doubt=True)
    assert judgement.verdict == "agrees"
    assert "wrongly" in judgement.implementations[EVALUATOR.name]


@pytest.mark.skipif(not has_engine(), reason="needs the engine")
def test_the_evaluator_is_not_asked_about_custom_calls():
    x = np.random.default_rng(0).standard_normal((6, 4), np.float32)
    judgement = judge_default(_job(jnp.linalg.qr, [x]), in_doubt=True)
    assert judgement.verdict == "agrees"
    words = judgement.implementations[EVALUATOR.name]
    assert "XLA's evaluator has no code for custom call lapack_sgeqrf" in words


def test_an_implementation_that_needs_other_devices_does_not_run():
    text = """HloModule permuted
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0}}
}"""
    worker = ImplementationWorker(Job(Program.of(text)), "", FlightRecorder())
    assert worker.ask([DEFAULT]).errors[DEFAULT.name].startswith("does not run")


def test_a_default_that_does_not_live_loses():
    x = np.ones((4, 4), np.float32)
    judgement = judge_default(_job(lambda x: x @ x, [x]), dead="ends the process: a test says so")
    assert judgement.verdict == "dies"
    assert judgement.headline == "jaxlib's default ends the process"
    assert judgement.plan is not None
    assert not judgement.plan.is_empty


def test_a_default_that_runs_past_its_time_limit_dies(monkeypatch):
    monkeypatch.setattr(references, "ImplementationWorker", QuickWorker)

    def endless(x):
        return jax.lax.while_loop(lambda c: (c == 0).any(), lambda c: c * 2, x)

    judgement = judge_default(_job(endless, [np.zeros(8, np.float32)]))
    assert judgement.verdict == "dies"
    assert judgement.headline == "jaxlib's default takes too long"
    assert judgement.plan is None  # nothing else ends, either


def test_a_default_that_runs_out_of_memory_dies(monkeypatch):
    monkeypatch.setattr(references, "_MEMORY", 1 << 30)

    def large(x):
        return jnp.sort(x[:, None] * x[None, :], axis=0)[0]

    x = np.linspace(0, 1, 20_000, dtype=np.float32)  # 1.6 GB for the products
    judgement = judge_default(_job(large, [x]))
    assert judgement.verdict == "dies"
    assert judgement.headline == "jaxlib's default runs out of memory"
    assert judgement.plan is None


def test_what_jaxlib_compiles_with_few_passes_is_the_last_resort(monkeypatch):
    monkeypatch.setattr(references, "_MEMORY", 640 << 20)
    function, arguments = folds_much()
    judgement = judge_default(_job(function, arguments))
    assert judgement.verdict == "dies"
    assert judgement.headline == "jaxlib's default runs out of memory"
    assert judgement.plan is not None
    assert judgement.plan.method == "jaxlib with few passes"


def test_random_numbers_have_no_reference():
    text = """
    HloModule drawing
    ENTRY e {
      low = f32[] constant(0)
      high = f32[] constant(1)
      ROOT r = f32[8] rng(low, high), distribution=rng_uniform
    }
    """
    judgement = judge_default(Job(Program.of(text)))
    assert judgement.verdict == "no reference"
    assert "draws different numbers" in judgement.reason
