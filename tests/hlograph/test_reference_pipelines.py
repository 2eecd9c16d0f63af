"""The reference pipelines, held against XLA's own compilation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hlograph
from benchmarks.compare_with_xla import CONVOLUTIONS, before_layout_assignment
from hlograph import FixedPoint, UnknownNameError, corpus


def documented_differences() -> set[str]:
    page = Path(__file__).parents[2] / "docs" / "reference-pipelines.md"
    return set(re.findall(r"^\| ([\w./-]+/[\w./-]+) \|", page.read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("family", sorted({b.family for b in corpus.benchmarks()}))
def test_xla_cpu_ends_where_xla_does(family):
    documented = documented_differences()
    for benchmark in corpus.benchmarks():
        if benchmark.family != family:
            continue
        module = benchmark.load()
        ours = module.clone()
        ours.run(hlograph.pipelines["xla-cpu"])
        theirs = before_layout_assignment(module, [])
        differs = theirs.op_count != ours.op_count
        assert differs == (benchmark.name in documented), benchmark.name
        if differs:
            # That pass is the whole difference: without it in XLA the counts are equal.
            theirs = before_layout_assignment(module, [CONVOLUTIONS])
            assert theirs.op_count == ours.op_count, benchmark.name


def test_recorded_order_is_xlas_own(tmp_path, corpus_module):
    """Pass by pass: the names that XLA records are those of our steps, in order."""
    folder = tmp_path / "dump"
    folder.mkdir()
    records = corpus_module._native.dump_cpu_passes(str(folder), [])
    theirs = [name for _, name, _ in records]
    theirs = theirs[: theirs.index("layout-assignment")]
    # Groups, and passes for types and a target that the registry leaves out.
    left_out = {
        "pipeline-start",
        "simplification",
        "post_scatter_expansion_simplification",
        "sub-byte-size-setter",
        CONVOLUTIONS,
    }
    theirs = [
        name
        for name in theirs
        if name not in left_out and not re.match(r"float-normalization-(?!bf16)", name)
    ]
    module = corpus_module.clone()
    called = hlograph.pipelines["xla-cpu"].run(module.run)
    assert [entry.name.split(":")[0] for entry in called] == theirs


def test_simplify_is_a_fixed_point(corpus_module):
    module = corpus_module.clone()
    assert module.run(hlograph.pipelines["xla-simplify"])
    before = module.fingerprint()
    module.run(hlograph.pipelines["xla-simplify"])
    assert module.fingerprint() == before


def test_pipelines_are_sequences_over_the_registry():
    for pipeline in hlograph.pipelines.values():
        for step in pipeline.steps:
            entries = step.steps if isinstance(step, FixedPoint) else (step,)
            assert all(entry in hlograph.passes for entry in entries)


def test_calls_replay_one_by_one(corpus_module):
    whole, single = corpus_module.clone(), corpus_module.clone()
    called = hlograph.pipelines["xla-cpu"].run(whole.run)
    for entry in called:
        single.run(entry)
    assert single.fingerprint() == whole.fingerprint()


def test_unknown_pipeline():
    with pytest.raises(UnknownNameError, match="xla-cpu"):
        hlograph.pipelines["xla-cpuu"]
    assert set(hlograph.pipelines) == {"xla-cpu", "xla-simplify", "none"}
