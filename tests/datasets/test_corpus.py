"""The shipped corpus: the manifest tells the truth about the files, and the split is honest."""

from __future__ import annotations

import ast
import csv
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hlograph.module import Module

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
def modules(rows: list[dict[str, str]]) -> dict[str, Module]:
    """Every module of the corpus, by name."""
    return {row["name"]: Module.load(CORPUS / row["path"]) for row in rows}


def test_columns_and_order(rows: list[dict[str, str]]) -> None:
    expected = [
        *("name", "family", "library", "library_version", "recipe"),
        *("op_count", "fingerprint", "split", "path"),
    ]
    names = [row["name"] for row in rows]
    assert list(rows[0]) == expected
    assert names == sorted(set(names))
    assert all(all(row.values()) for row in rows)


def test_names_tell_family_and_path(rows: list[dict[str, str]]) -> None:
    for row in rows:
        assert re.fullmatch(r"[a-z0-9.\-]+(/[a-z0-9.\-]+){2}", row["name"]), row["name"]
        assert row["name"].split("/")[0] == row["family"]
        assert row["path"] == f"hlo/{row['name']}.hlo.zst"


def test_every_file_has_a_row_and_every_row_a_file(rows: list[dict[str, str]]) -> None:
    files = {str(path.relative_to(CORPUS)) for path in (CORPUS / "hlo").rglob("*.zst")}
    assert files == {row["path"] for row in rows}


def test_op_counts_and_fingerprints(rows: list[dict[str, str]], modules: dict[str, Module]) -> None:
    for row in rows:
        module = modules[row["name"]]
        assert module.op_count == int(row["op_count"]), row["name"]
        assert module.fingerprint() == row["fingerprint"], row["name"]


def test_some_modules_verify_and_print_back(modules: dict[str, Module]) -> None:
    small = sorted(name for name, module in modules.items() if module.op_count < 1500)
    for name in random.Random(0).sample(small, 12):
        modules[name].verify()
        printed = Module.from_text(modules[name].to_text())
        assert printed.fingerprint() == modules[name].fingerprint(), name


def test_no_graph_occurs_twice(rows: list[dict[str, str]]) -> None:
    counts = Counter(row["fingerprint"] for row in rows)
    assert [fingerprint for fingerprint, count in counts.items() if count > 1] == []


def test_families_are_on_one_side(rows: list[dict[str, str]]) -> None:
    splits = defaultdict(set)
    for row in rows:
        splits[row["family"]].add(row["split"])
    assert {len(sides) for sides in splits.values()} == {1}
    assert set().union(*splits.values()) == {"train", "test"}


def test_opcode_histograms_are_not_shared_across_the_split(
    rows: list[dict[str, str]], modules: dict[str, Module]
) -> None:
    """A graph that differs from one of the other side in its shapes only would show here."""
    sides = defaultdict(set)
    for row in rows:
        sides[row["split"]].add(tuple(modules[row["name"]].op_counts()))
    assert sides["train"] & sides["test"] == set()


def test_sizes(rows: list[dict[str, str]]) -> None:
    sizes = {
        split: [int(row["op_count"]) for row in rows if row["split"] == split]
        for split in ("train", "test")
    }
    everything = sizes["train"] + sizes["test"]
    assert len(everything) >= 60
    assert all(100 <= size <= 8000 for size in everything)
    assert sum(size <= 1200 for size in sizes["train"]) >= 40
    assert sum(size <= 1500 for size in sizes["test"]) >= 14
    assert all(max(sizes[split]) >= 2000 for split in sizes)


def test_breadth(rows: list[dict[str, str]]) -> None:
    families, small = defaultdict(set), Counter()
    for row in rows:
        families[row["split"]].add(row["family"])
        small[row["family"]] += int(row["op_count"]) <= 1500
    assert len(families["train"]) >= 8
    assert len(families["test"]) >= 5
    assert all(small[family] >= 2 for family in families["test"])


def test_structures_that_passes_work_on_occur_on_both_sides(
    rows: list[dict[str, str]], modules: dict[str, Module]
) -> None:
    opcodes = {"while", "conditional", "gather", "scatter", "convolution", "dot", "call", "reduce"}
    for split in ("train", "test"):
        text = "".join(modules[row["name"]].to_text() for row in rows if row["split"] == split)
        assert opcodes <= set(re.findall(r" ([a-z\-]+)\(", text)), split


def test_files_are_small_and_hold_no_paths_or_weights(rows: list[dict[str, str]]) -> None:
    zstandard = pytest.importorskip("zstandard")
    total = 0
    for row in rows:
        packed = (CORPUS / row["path"]).read_bytes()
        text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
        assert len(packed) < 150_000, row["name"]
        assert not re.search(r"site-packages|\.py\b|/home/|/tmp/|/root/", text), row["name"]
        literals = [line for line in text.splitlines() if " constant({" in line]
        assert max(map(len, literals), default=0) < 40_000, f"{row['name']} has weights in it"
        total += len(packed)
    assert total < 6_000_000


def test_split_rule_of_the_builder(
    rows: list[dict[str, str]], script: Callable[[str], ModuleType]
) -> None:
    manifest = script("manifest")
    assert [manifest.split_of(row["family"]) for row in rows] == [row["split"] for row in rows]
    assert [list(row) for row in manifest.read_manifest()] == [
        [int(value) if column == "op_count" else value for column, value in row.items()]
        for row in rows
    ]


def test_manifest_round_trip(tmp_path: Path, script: Callable[[str], ModuleType]) -> None:
    manifest = script("manifest")
    rows = manifest.read_manifest()
    manifest.write_manifest(reversed(rows), tmp_path / "manifest.csv")
    assert (tmp_path / "manifest.csv").read_bytes() == (CORPUS / "manifest.csv").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.csv"]


def test_datasheet_agrees_with_the_manifest(script: Callable[[str], ModuleType]) -> None:
    assert script("datasheet").tables() in (CORPUS / "README.md").read_text()


def test_sources_offer_recipes() -> None:
    """Sources need their libraries, so here they are read, not run."""
    assert len(SOURCES) >= 6
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
