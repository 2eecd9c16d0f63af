"""Random programs for references: they are valid and of all opcodes; findings are found."""

import json
from dataclasses import replace

import numpy as np
import pytest

import hlograph
from hlograph._native import has_engine
from hlograph.execution.equivalence.arrays import ArraySpec
from hlograph.graph.vocabulary import OPCODES
from hlograph.isolation import FlightRecorder
from hlograph.measuring.implementation_worker import ImplementationWorker
from hlograph.measuring.implementations import DEFAULT
from hlograph.measuring.trial import Job
from hlograph.plans import Program
from hlograph.reading.hlo_text import read_instructions
from tests.campaigns import references
from tests.campaigns.random_programs.findings import (
    Explained,
    explained,
    is_finding,
    kind_of,
    operations_of,
    rule_of,
)
from tests.campaigns.random_programs.inputs import KINDS, inputs_of
from tests.campaigns.random_programs.judged import (
    Judged,
    JudgingTask,
    judged,
    make_worker,
    values_of,
)
from tests.campaigns.random_programs.programs import DRAWS, LEFT_OUT, random_program
from tests.campaigns.random_programs.report import GROUPS, report

pytestmark = pytest.mark.skipif(not has_engine(), reason="needs the engine")


def test_each_opcode_is_drawn_or_left_out_for_a_reason():
    assert not DRAWS.keys() & LEFT_OUT.keys()
    assert DRAWS.keys() | LEFT_OUT.keys() == set(OPCODES)
    assert all(LEFT_OUT.values())
    assert frozenset().union(*GROUPS.values()) <= DRAWS.keys()


def test_programs_are_valid_and_have_each_opcode():
    drawn = set()
    for number in range(2 * len(DRAWS)):
        program = random_program(3, number)
        assert program.text == random_program(3, number).text
        hlograph.Module.from_text(program.text).verify()
        drawn |= {op.opcode for op in read_instructions(program.text)}
    assert drawn >= DRAWS.keys()
    assert random_program(4, 0).text != random_program(3, 0).text


_SPECS = [
    ArraySpec(name, (300,)) for name in ("f32", "bf16", "f8e5m2", "c64", "s8", "u64", "s4", "pred")
]


def test_inputs_have_special_numbers_or_not():
    flow = Program.of(random_program(0, 0).text).flow
    drawn = inputs_of(flow, _SPECS, 1, True)
    assert [str(array.dtype) for array in drawn][2] == "float8_e5m2"
    assert np.isnan(drawn[0]).any()
    assert np.isinf(drawn[0]).any()
    assert (np.signbit(drawn[0]) & (drawn[0] == 0)).any()
    assert {-128, 127} <= set(drawn[4].tolist())
    assert drawn[5].max() == np.iinfo(np.uint64).max
    tame = inputs_of(flow, _SPECS, 1, True, frozenset(KINDS))
    for array, special in zip(tame[:2], drawn[:2], strict=True):
        size = np.abs(array.astype(np.float64))
        assert np.isfinite(size).all()
        assert (size > 1e-30).all()
        usual = np.isfinite(special.astype(np.float64)) & (size != 1)
        assert (array == special)[usual].all()
    assert (tame[4] != 0).all()
    assert np.abs(tame[4].astype(int)).max() < 100
    assert not (np.isnan(tame[3]) | np.isinf(tame[3])).any()


_TEXT = """
HloModule planted
ENTRY e {
  x = f32[3,5] parameter(0)
  a = f32[3,5] negate(x)
  b = f32[3,5] tanh(a)
  c = f32[3,5] multiply(b, a)
  ROOT d = f32[3,5] abs(c)
}
"""
_TASK = JudgingTask("planted", _TEXT, 0, is_special=True)


class _PlantedWorker(ImplementationWorker):
    """Has a default that computes a tanh of zero as 7."""

    def _runner(self, implementation):
        run = super()._runner(implementation)
        if implementation != DEFAULT or "tanh" not in self._flow.opcodes:
            return run

        def wrong(inputs):
            outputs = run(inputs)
            return [np.where(inputs[0] == 0, np.float32(7), array) for array in outputs]

        return wrong


def _judge_planted(task):
    program = Program.of(task.source)
    specs = program.signature.parameters
    given = inputs_of(program.flow, specs, task.seed, task.is_special, task.without)
    return judged(program, _PlantedWorker(Job(program, given), "", FlightRecorder()), task.dead)


def test_a_planted_fault_is_found_and_cut_down():
    answer = _judge_planted(_TASK)
    kind = kind_of(answer)
    assert kind == "alone: default"
    assert answer.verdict == "differs"
    finding = explained(_judge_planted, _TASK, kind, [], 60.0)
    assert finding.operations == ("tanh f32",)
    assert finding.needs == ("zeros",)
    assert kind_of(make_worker(FlightRecorder())(_TASK)) in ("agree", "rounding")


def test_a_part_gets_what_the_whole_computes():
    x = np.array([[0.5, -2, 3, 0, 1]] * 3, np.float32)
    values = values_of(Program.of(_TEXT), [x])
    assert list(values) == ["x", "a", "b", "c", "d"]
    assert (values["a"] == -x).all()
    np.testing.assert_allclose(values["c"], np.tanh(-x) * -x, rtol=1e-5)
    part = """
    HloModule part
    ENTRY e {
      b = f32[3,5] parameter(0)
      a = f32[3,5] parameter(1)
      ROOT c = f32[3,5] multiply(b, a)
    }
    """
    task = replace(_TASK, source=part, whole=_TEXT)
    assert kind_of(make_worker(FlightRecorder())(task)) == "agree"


_DROPPED = """HloModule dropped
largest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
ENTRY e {
  x = f32[3,1] parameter(0)
  z = f32[] constant(100)
  ROOT r = f32[3] reduce(x, z), dimensions={1}, to_apply=largest
}
"""


def test_a_finding_that_passes_make_is_told():
    task, perform = JudgingTask("dropped", _DROPPED, 0, False), make_worker(FlightRecorder())
    kind = kind_of(perform(task))
    assert kind == "alone: evaluator"
    finding = explained(perform, task, kind, [], 60.0)
    assert finding.by_passes
    assert "initial values" in finding.rule


def test_kinds_of_results():
    right = {"jaxlib's default": "right", "the engine's XLA": "right"}
    agrees = Judged("agrees", "", right, is_equal=True)
    assert kind_of(agrees) == "agree"
    assert kind_of(replace(agrees, is_equal=False)) == "rounding"
    assert kind_of(replace(agrees, verdict="differs")) == "wrong: default"
    dead = {**right, "jaxlib's default": "ends the process: by SIGFPE"}
    assert kind_of(Judged("dies", "", dead)) == "dies: default"
    slow = {**right, "XLA's evaluator": "takes too long: it ran for 30 s"}
    assert kind_of(Judged("agrees", "", slow)) == "rounding"
    wrong = {**right, "the engine's XLA": "wrong"}
    assert kind_of(Judged("agrees", "", wrong)) == "wrong: engine"
    lone = {"jaxlib's default": "right", "XLA's evaluator": "does not run: has no dot"}
    assert kind_of(Judged("no reference", "", lone)) == "not run"
    assert [is_finding(kind) for kind in ("agree", "not run", "undecided")] == [False, False, True]


def test_what_is_not_defined_has_a_rule():
    assert "division by zero" in rule_of(["divide s32"], ("zeros",))
    assert "that the integer type does not have" in rule_of(["convert s8 of f32"], ("NaN",))
    assert rule_of(["convert s8 of s32"], ("extremes",)) == ""
    assert rule_of(["divide s32"], None) == ""
    assert rule_of(["add f32"], ("NaN",)) == ""
    assert "other groups" in rule_of(["convolution bf16"], ("NaN",))
    assert rule_of(["convolution s8"], ("extremes",)) == ""
    window = "window={size=2x3 pad=0_1x3_0}"
    padded = Explained("", "", window, ("select-and-scatter f32",), 0, None, "")
    assert "padding alone" in padded.rule
    assert "equal elements" in replace(padded, text=window.replace("3_0", "2_0")).rule
    assert operations_of(_TEXT) == ("abs f32", "multiply f32", "negate f32", "tanh f32")


def test_a_campaign_goes_on_where_it_ended(tmp_path, capsys):
    config = references.ReferencesConfig(
        programs=2, seed=5, out=tmp_path / "run", explain_seconds=0.0, page=tmp_path / "page.md"
    )
    assert references.main(replace(config, programs=1)) == 0
    path = config.out / "programs.jsonl"
    path.write_text(path.read_text() + '{"cut off')
    assert references.main(config) == 0
    names = [json.loads(line)["name"] for line in path.read_text().splitlines()]
    assert names == ["random 0", "random 1"]
    page = (tmp_path / "page.md").read_text()
    assert "| all | 2 |" in page
    assert "report.md" in capsys.readouterr().out


def test_a_module_for_several_devices_is_not_run():
    text = """HloModule permuted
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,0}}
}"""
    answer = make_worker(FlightRecorder())(JudgingTask("several", text, 0, is_special=False))
    assert kind_of(answer) == "not run"
    assert "needs other devices" in answer.reason


def test_a_serialized_module_whose_process_is_lost_has_a_line():
    proto = hlograph.Module.from_text(_TEXT).to_proto()
    task = JudgingTask("lost", proto, 0, is_special=False)
    line = references._line(task, Judged("not run", "the process is lost"))
    assert line["opcodes"] == ["abs", "multiply", "negate", "parameter", "tanh"]


def test_the_table_counts_each_program_once_in_its_groups():
    lines = [
        {"name": "a", "kind": "agree", "opcodes": ["add", "dot"]},
        {"name": "b", "kind": "wrong: default", "opcodes": ["dot"]},
        {"name": "c", "kind": "alone: evaluator", "opcodes": ["divide"]},
    ]
    fault = Explained("b", "wrong: default", "text", ("dot f32",), 0, None, "it | differs")
    rule = Explained("c", "alone: evaluator", "text", ("divide s32",), 0, ("zeros",), "")
    text = report(lines, [fault, rule])
    assert "| products and convolutions | 2 | 1 | 0 | 0 | 1 | 0 |" in text
    assert "| all | 3 | 1 | 0 | 1 | 1 | 0 |" in text
    assert "| wrong: default | `dot f32` | 1 | usual inputs | it / differs |" in text
