"""The shipped corpus: the manifest tells the truth about the files, and the split is honest."""

import ast
import csv
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import zstandard

from hlograph import corpus

REPOSITORY = Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "datasets"
SOURCES = sorted((CORPUS / "sources").glob("*.py"))
BUILDER_ONLY = {"equinox", "flax", "haiku", "keras", "optax", "transformers"}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """The manifest's rows."""
    with (CORPUS / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def sample() -> corpus.BenchmarkSet:
    """Benchmarks of all kinds that open quickly; `-m slow` takes all."""
    small = corpus.load(max_op_count=3000)
    return corpus.BenchmarkSet(random.Random(0).sample(list(small), 150))


def test_columns_and_order(rows: list[dict[str, str]]) -> None:
    names = [row["name"] for row in rows]
    assert list(rows[0]) == [
        *("name", "family", "library", "version", "scope", "set", "split", "op_count"),
        *("op_count_xla_cpu", "op_count_xla_dump", "op_count_xla_simplify"),
        *("fingerprint", "structure", "recipe"),
    ]
    assert names == sorted(set(names))
    assert all(all(row.values()) for row in rows)


def test_names_tell_the_family(rows: list[dict[str, str]]) -> None:
    for row in rows:
        assert re.fullmatch(r"[a-z0-9.\-]+(/[a-z0-9.\-]+){2}", row["name"]), row["name"]
        assert row["name"].split("/")[0] == row["family"]


def test_every_file_has_a_row_and_every_row_a_file(rows: list[dict[str, str]]) -> None:
    files = {path.relative_to(CORPUS / "hlo").as_posix() for path in (CORPUS / "hlo").rglob("*.*")}
    files = {name for name in files if (CORPUS / "hlo" / name).is_file()}
    assert files == {f"{row['name']}.hlo.zst" for row in rows}


def as_recorded(benchmark: corpus.Benchmark) -> bool:
    """Returns whether a module is what the manifest says, and comes back from its print."""
    module = benchmark.load()
    found = (module.op_count, module.fingerprint(), module.structure())
    return found == (benchmark.op_count, benchmark.fingerprint, benchmark.structure)


def test_op_counts_fingerprints_and_structures(sample: corpus.BenchmarkSet) -> None:
    wrong = [b.name for b, right in zip(sample, sample.map(as_recorded), strict=True) if not right]
    assert wrong == []


@pytest.mark.slow
def test_op_counts_fingerprints_and_structures_of_all() -> None:
    everything = corpus.load()
    results = zip(everything, everything.map(as_recorded), strict=True)
    assert [b.name for b, right in results if not right] == []


def test_measurements_of_some(
    sample: corpus.BenchmarkSet, script: Callable[[str], ModuleType]
) -> None:
    """Modules pass the builder's checks: they verify, print back, and go through the pipelines."""
    for benchmark in sample.filter(lambda b: b.op_count < 1500)[:12]:
        measured = script("measure").measure(benchmark.load())._asdict()
        recorded = {column: getattr(benchmark, column) for column in measured}
        assert measured == recorded, benchmark.name


def test_no_graph_occurs_twice(rows: list[dict[str, str]]) -> None:
    counts = Counter(row["fingerprint"] for row in rows)
    assert [fingerprint for fingerprint, count in counts.items() if count > 1] == []


def test_nothing_that_differs_in_shapes_only_is_on_both_sides(rows: list[dict[str, str]]) -> None:
    """Equal structures (opcodes and edges) are in one split, but for the two kinds of test."""
    splits = defaultdict(set)
    for row in rows:
        splits[row["structure"]].add(row["split"])
    assert all(
        len(sides) == 1 or sides == {"test-seen", "test-unseen"} for sides in splits.values()
    )


def test_unseen_families_and_libraries_are_in_no_other_split(rows: list[dict[str, str]]) -> None:
    families, libraries = defaultdict(set), defaultdict(set)
    for row in rows:
        unseen = row["split"] == "test-unseen"
        families[row["family"]].add(unseen)
        libraries[row["library"]].add(unseen)
    assert all(len(sides) == 1 for sides in families.values())
    assert sum(sides == {True} for sides in families.values()) >= 10
    assert sum(sides == {True} for sides in libraries.values()) >= 3


def test_seen_families_are_trained_on(rows: list[dict[str, str]]) -> None:
    trained = {row["family"] for row in rows if row["split"] == "train"}
    tested = {row["family"] for row in rows if row["split"] in ("validation", "test-seen")}
    assert tested <= trained


def test_sizes_and_breadth(rows: list[dict[str, str]]) -> None:
    sizes = [int(row["op_count"]) for row in rows]
    assert len(rows) >= 1000
    assert all(20 <= size <= 50_000 for size in sizes)
    assert max(sizes) >= 20_000
    assert len({row["family"] for row in rows}) >= 20
    assert len({row["library"] for row in rows}) >= 12
    assert sum(row["scope"] in ("training-step", "model") for row in rows) >= 400
    assert len({row["structure"] for row in rows}) >= 1000


def test_gpt2_training_steps(rows: list[dict[str, str]]) -> None:
    steps = [row for row in rows if row["set"] == "gpt2-train"]
    assert {row["scope"] for row in steps} == {"training-step"}
    splits = Counter(row["split"] for row in steps)
    assert sum(row["family"] == "gpt2" for row in steps) >= 40
    assert splits["train"] >= 40
    assert min(splits[name] for name in ("validation", "test-seen", "test-unseen")) >= 5
    assert {row["family"] == "gpt2" for row in steps if row["split"] != "test-unseen"} == {True}


def test_files_are_small_and_hold_no_paths_or_weights(sample: corpus.BenchmarkSet) -> None:
    for benchmark in sample:
        assert isinstance(benchmark.source, Path)
        packed = benchmark.source.read_bytes()
        text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
        assert not re.search(r"site-packages|\.py\b|/home/|/tmp/|/root/", text), benchmark.name
        literals = [line for line in text.splitlines() if " constant({" in line]
        assert max(map(len, literals), default=0) < 100_000, f"{benchmark.name} has weights in it"
    sizes = [path.stat().st_size for path in (CORPUS / "hlo").rglob("*.zst")]
    assert max(sizes) < 300_000
    assert sum(sizes) < 25_000_000


def test_split_rule_of_the_builder(script: Callable[[str], ModuleType]) -> None:
    rows = script("manifest").read_manifest()
    assert script("splits").assign(rows) == rows


def test_manifest_round_trip(tmp_path: Path, script: Callable[[str], ModuleType]) -> None:
    manifest = script("manifest")
    rows = manifest.read_manifest()
    manifest.write_manifest(reversed(rows), tmp_path / "manifest.csv")
    assert (tmp_path / "manifest.csv").read_bytes() == (CORPUS / "manifest.csv").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.csv"]


def test_datasheet_agrees_with_the_manifest(script: Callable[[str], ModuleType]) -> None:
    assert script("datasheet").tables() in (CORPUS / "README.md").read_text()


def test_opcodes_are_those_of_the_modules(
    rows: list[dict[str, str]], script: Callable[[str], ModuleType]
) -> None:
    uses = script("opcode_coverage").read_opcode_uses()
    assert sum(use.instructions for use in uses) == sum(int(row["op_count"]) for row in rows)
    assert max(use.modules for use in uses) == len(rows)
    occurring = {use.opcode for use in uses if use.modules}
    assert {"while", "conditional", "gather", "scatter", "convolution", "dot", "call"} <= occurring
    assert {"all-reduce", "all-gather", "collective-permute", "all-to-all", "fft"} <= occurring


def test_plots_are_there() -> None:
    datasheet = (CORPUS / "README.md").read_text()
    shown = re.findall(r"!\[[^\]]+\]\((plots/[a-z]+\.png)\)", datasheet)
    assert sorted(shown) == sorted(f"plots/{path.name}" for path in (CORPUS / "plots").iterdir())


def test_sources_offer_recipes() -> None:
    """Sources need their libraries, so here they are read, not run."""
    assert len(SOURCES) >= 20
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert "recipes" in functions, path.name
        assert "http" not in path.read_text(encoding="utf-8"), path.name


def test_nothing_outside_needs_the_corpus_libraries_or_scripts() -> None:
    forbidden = BUILDER_ONLY | {path.stem for path in CORPUS.glob("*.py")} | {"datasets"}
    for folder in ("hlograph", "envs", "models", "experiments"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            assert top_level_imports(path) & forbidden == set(), path


def top_level_imports(path: Path) -> set[str]:
    """Returns the packages that a file imports by absolute name, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_there_is_no_package_named_datasets() -> None:
    """Hugging Face owns that name."""
    assert not (CORPUS / "__init__.py").exists()
