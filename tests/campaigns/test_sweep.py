"""The framework of campaigns: modules, tasks, results, pages."""

import os
from pathlib import Path

import pytest

from hlograph import Module
from hlograph.isolation import InProcessPool
from tests.campaigns.framework.module_sets import SMALL, load, select
from tests.campaigns.framework.sweep import Page, Sweep, SweepConfig
from tests.campaigns.framework.tasks import INTERRUPTED, TaskQueue, noted
from tests.hlograph import rare_modules

NAMES = ("good", "fatal")
BENCHMARKS = ("small/FFT", "small/TOPK")


def make_worker(recorder):
    """Returns a worker that a check "fatal" ends."""

    def work(task):
        for name in task.names:
            with noted(recorder, f"{name} of {task.benchmark}"):
                if name == "fatal":
                    os.abort()
        return [{"name": name} for name in task.names]

    return work


def make_honest_worker(recorder):
    return lambda task: [{"name": name} for name in task.names]


def make_impatient_worker(recorder):
    """Returns a worker that is stopped by Ctrl-C at the second module."""

    def work(task):
        if task.benchmark == BENCHMARKS[1]:
            raise KeyboardInterrupt
        return []

    return work


def report(lines):
    return f"{len(lines)} modules\n"


def test_modules_of_both_sets_are_selected_by_name():
    assert {b.name for b in select(["small/*"])} == {name for name, _ in SMALL}
    assert not any(b.name.startswith("small/") for b in select(["*"], 60))
    both = select(["small/FFT", "signal-transform/dct/one"])
    assert {b.name for b in both} == {"small/FFT", "signal-transform/dct/one"}
    assert [b.op_count for b in both] == sorted(b.op_count for b in both)
    assert [load(b.name).fingerprint() for b in both] == [b.fingerprint for b in both]
    with pytest.raises(SystemExit, match="no module with at most 2 instructions"):
        select(["small/FFT"], 2)


def test_every_small_module_is_valid():
    assert {name.removeprefix("small/") for name, _ in SMALL} >= rare_modules.ALL.keys()
    for _, text in SMALL:
        Module.from_text(text).verify()


def test_a_task_that_is_added_at_the_end_is_done():
    queue = TaskQueue(["a"])
    done = []
    with InProcessPool(lambda recorder: str.upper) as pool:
        for task, result in queue.run(pool):
            done.append(result)
            if task == "a":
                queue.put("b")
    assert done == ["A", "B"]


def test_a_lost_worker_costs_one_check(tmp_path):
    config = SweepConfig(out=tmp_path, benchmarks=BENCHMARKS, workers=2)
    sweep = Sweep("test", config, NAMES, make_worker)
    assert sweep.run(report) == 0
    lines = sweep.lines()
    assert {line["benchmark"] for line in lines} == set(BENCHMARKS)
    for line in lines:
        good, fatal = line["results"]
        assert good == {"name": "good"}
        assert (fatal["name"], fatal["verdict"]) == ("fatal", "crashed")


def test_a_sweep_continues_after_ctrl_c_and_after_a_line_that_was_cut_off(tmp_path):
    config = SweepConfig(out=tmp_path, benchmarks=BENCHMARKS, workers=0)
    assert Sweep("test", config, NAMES, make_impatient_worker).run(report) == INTERRUPTED
    assert (tmp_path / "report.md").read_text() == "1 modules\n"
    results = tmp_path / "results.jsonl"
    first = results.read_text()
    with results.open("a") as file:
        file.write('{"benchmark": "cut o')
    sweep = Sweep("test", config, NAMES, make_honest_worker)
    assert sweep.run(report) == 0
    assert tuple(line["benchmark"] for line in sweep.lines()) == BENCHMARKS
    assert results.read_text().startswith(first)
    assert len(results.read_text().splitlines()) == 2


def test_a_report_replaces_the_marked_part_of_a_page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# By hand\n<!-- begin: sweep -->\nold\n<!-- end -->\nafter\n")
    Page(path, "sweep").write("new")
    assert path.read_text() == "# By hand\n<!-- begin: sweep -->\n\nnew\n<!-- end -->\nafter\n"
    with pytest.raises(SystemExit, match="begin: other"):
        Page(path, "other")
    Page(tmp_path / "made.md", "sweep").write("new")
    assert "\nnew\n" in (tmp_path / "made.md").read_text()


@pytest.mark.parametrize("name", ["sweep_equivalence", "rule_fixed_points"])
def test_the_pages_of_the_documentation_have_marks(name):
    pages = {"sweep_equivalence": "numerics.md", "rule_fixed_points": "rule-fixed-points.md"}
    Page(Path(__file__).parents[2] / "docs" / pages[name], name)
