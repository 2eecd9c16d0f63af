import pytest

from hlograph import Module, UnknownNameError, pipelines
from hlograph.explorer.steps import run_steps, steps_data
from tests.tiny_module import TINY


def test_steps_are_taken_one_after_the_other() -> None:
    module = Module.from_text(TINY)

    steps = list(run_steps(module, ["call-inliner", "cse", "cse", "merge(a, a)"]))

    assert [step.name for step in steps] == ["call-inliner", "cse", "cse", "merge(a, a)"]
    assert [step.changed for step in steps] == [True, True, False, False]
    assert [step.module.op_count for step in steps] == [5, 4, 4, 4]
    assert steps[3].error
    assert module.op_count == 8
    assert all(step.seconds >= 0 for step in steps)


def test_a_pipeline_is_run_pass_by_pass(corpus_module: Module) -> None:
    whole = corpus_module.clone()
    called = [entry.name for entry in pipelines["xla-simplify"].run(whole.clone().run)]
    whole.run(pipelines["xla-simplify"])

    steps = list(run_steps(corpus_module, ["xla-simplify"]))

    assert [step.name for step in steps] == called
    assert steps[-1].module.fingerprint() == whole.fingerprint()


def test_names_are_checked_before_anything_runs() -> None:
    with pytest.raises(UnknownNameError, match="algsimp"):
        next(run_steps(Module.from_text(TINY), ["dce", "algsim"]))


def test_data_has_a_file_for_each_step_that_changed_something() -> None:
    module = Module.from_text(TINY)

    page, files = steps_data(module, run_steps(module, ["cse", "cse", "call-inliner"]))

    assert page["program"] == "tiny"
    assert page["start_op_count"] == 8
    rows = page["steps"]
    assert [row["file"] for row in rows] == ["steps-1", None, "steps-3"]
    assert [row["op_count"] for row in rows] == [7, 7, 4]
    assert [row["removed"] - row["added"] for row in rows] == [1, 0, 3]
    assert list(files) == ["steps-1", "steps-3"]
