import pytest

from hlograph.explorer import timelines as tested
from hlograph.explorer.timelines import optimized_data, timeline_data
from hlograph.profiling.kernels import Kernel, Measurement
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import RecordedRun, Span
from tests.hlograph.profiling.programs import LOOP

PROGRAM = OptimizedModule.from_text(LOOP)


def _measurement(*spans: tuple[str, float, float]) -> Measurement:
    run = RecordedRun(1000.0, 11_000.0, tuple(Span(n, 1000 * a, 1000 * b) for n, a, b in spans))
    kernels = [Kernel(n, "", "", "dot", 1, 1e-6, "", "none", "") for n in ("twice", "loop", "last")]
    return Measurement(PROGRAM, 9e-6, 1e-5, 1.0, tuple(kernels), run, quiet_seconds=6e-6)


def test_steps_of_a_loop_are_below_it_and_side_by_side_in_lanes_of_their_own():
    spans = ("loop", 2, 8), ("twice", 3, 5), ("twice", 5, 7), ("last", 6, 10)
    data = timeline_data(_measurement(*spans), {"loop": 5e-7})
    run = data["run"]
    names = [data["kernels"]["name"][kernel] for kernel in run["kernel"]]
    assert names == ["loop", "twice", "twice", "last"]
    assert run["start"] == [1, 2, 4, 5]
    assert run["duration"] == [6, 2, 2, 4]
    assert run["depths"] == [0, 0, 1]
    assert run["lane"] == [0, 2, 2, 1]
    assert run["seconds"] == pytest.approx(1e-5)
    assert run["left_out"] == 0
    # The kernels are those of the runs that were disturbed least.
    assert data["seconds"] == 6e-6
    assert data["kernels"]["seconds"] == pytest.approx([1e-6 * 6 / 9] * 3)
    assert data["kernels"]["predicted"] == [None, 5e-7, None]


def test_the_longest_steps_are_shown(monkeypatch):
    monkeypatch.setattr(tested, "MOST_SPANS", 2)
    data = timeline_data(_measurement(("last", 1, 3), ("twice", 3, 4), ("loop", 5, 9)), {})
    assert data["run"]["duration"] == [2, 4]
    assert data["run"]["left_out"] == 1
    assert data["run"]["left_out_seconds"] == pytest.approx(1e-6)


def test_columns_of_an_optimized_module_lead_back_to_it():
    data = optimized_data(PROGRAM)
    assert data["computations"][data["entry"]] == PROGRAM.entry
    assert sorted(data["names"]) == sorted(PROGRAM.instructions)
    for number, name in enumerate(data["names"]):
        one = PROGRAM.instructions[name]
        begin, end = data["offsets"][number : number + 2]
        assert tuple(data["names"][n] for n in data["targets"][begin:end]) == one.operands
        assert data["opcodes"][data["opcode"][number]] == one.opcode
        assert data["shapes"][data["shape"][number]] == one.shape
        assert data["computations"][data["computation"][number]] == one.computation
        called = data["called"].get(number, ())
        assert tuple(data["computations"][n] for n in called) == one.calls
    roots = [data["names"][number] for number in data["roots"]]
    assert roots == ["add.1", "both", "less", "last"]
    assert {data["names"][row]: n for row, n in data["parameter"].items()} == {
        **{"a": 0, "b": 1, "state": 0, "state.1": 0, "y": 0}
    }
    fusion = data["names"].index("twice")
    assert data["kinds"][data["kind"][fusion]] == "elementwise"
