"""The reference pipelines compared with XLA's own compilation."""

import math
import re
from pathlib import Path

import pytest

import hlograph
from benchmarks.compare_with_xla import CONVOLUTIONS, compare
from hlograph import FixedPoint, Pipeline, UnknownNameError, corpus


def documented_exceptions() -> set[str]:
    page = Path(__file__).parents[3] / "docs" / "reference-pipelines.md"
    (listed,) = re.findall(r"The difference is not explained for ([^.]+)\.\n", page.read_text())
    return set(re.findall(r"`([^`]+)`", listed))


def ends_where_xla_does(benchmark: corpus.Benchmark) -> bool:
    return compare(benchmark).explained


def assert_documented(benchmarks: corpus.BenchmarkSet) -> None:
    results = zip(benchmarks, benchmarks.map(ends_where_xla_does), strict=True)
    differing = {benchmark.name for benchmark, right in results if not right}
    assert differing == documented_exceptions() & set(benchmarks.names)


def test_xla_cpu_ends_where_xla_does(small_benchmarks):
    """On small modules of 40 families the counts are equal, except for three passes."""
    assert_documented(corpus.BenchmarkSet(small_benchmarks))


@pytest.mark.slow
def test_xla_cpu_ends_where_xla_does_on_all():
    assert_documented(corpus.load())


def test_recorded_order_is_xlas_own(tmp_path, corpus_module):
    """Compares the names of passes that XLA records with the pipeline's steps, in order."""
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


@pytest.mark.parametrize("name", ["xla-simplify", "hlograph-simplify"])
def test_simplify_ends_at_a_fixed_point(corpus_module, name):
    module = corpus_module.clone()
    pipeline = hlograph.pipelines[name]
    assert module.run(pipeline)
    before = module.fingerprint()
    last = pipeline.steps[-1]
    assert isinstance(last, FixedPoint)
    module.run(Pipeline("last", "its last group", (last,)))
    assert module.fingerprint() == before


def test_the_order_found_by_search_leaves_less():
    """It was searched on the train split."""
    benchmarks = corpus.load(split="validation", max_op_count=400)
    logs = []
    for benchmark in benchmarks:
        module = benchmark.load()
        module.run("hlograph-simplify")
        assert benchmark.op_count_xla_simplify is not None
        logs.append(math.log(benchmark.op_count_xla_simplify / module.op_count))
    assert len(logs) > 15
    assert math.fsum(logs) / len(logs) > 0.01


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
    references = {"xla-cpu", "xla-cpu-unexpanded", "xla-simplify", "hlograph-simplify"}
    assert set(hlograph.pipelines) == {*references, "none"}
