"""The set `speed`: whole families in each split, and no structure in two of them."""

import ast
import csv
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

from hlograph import corpus

REPOSITORY = Path(__file__).resolve().parents[2]
SPEED = REPOSITORY / "datasets" / "speed"
KINDS = {"vision", "language", "science", "algorithms"}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """The manifest's rows."""
    with (SPEED / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_file_has_a_row_and_every_row_a_file(rows: list[dict[str, str]]) -> None:
    files = {path.relative_to(SPEED / "hlo").as_posix() for path in SPEED.rglob("*.zst")}
    assert files == {f"{row['name']}.hlo.zst" for row in rows}


def test_every_program_has_a_time(rows: list[dict[str, str]]) -> None:
    with (SPEED / "times.csv").open(newline="", encoding="utf-8") as file:
        times = {row["name"]: row for row in csv.DictReader(file)}
    assert set(times) == {row["name"] for row in rows}
    assert not [name for name, row in times.items() if row["error"]]
    assert all(0.1 < float(row["ms"]) < 1000 for row in times.values())
    assert all(float(row["headroom"]) > 0 for row in times.values())


def test_the_table_of_families_decides(
    rows: list[dict[str, str]], script: Callable[[str], ModuleType]
) -> None:
    table = script("speed_splits").FAMILIES
    listed = [
        family for kinds in table.values() for families in kinds.values() for family in families
    ]
    assert set(table) == {"train", "validation", "test"}
    assert all(set(kinds) == KINDS for kinds in table.values())
    assert Counter(listed) == Counter(dict.fromkeys({row["family"] for row in rows}, 1))
    for row in rows:
        assert row["set"] == "speed"
        assert row["name"].split("/")[0] == row["family"]
        kinds = table[row["split"]].values()
        assert any(row["family"] in families for families in kinds), row["name"]


def test_a_family_that_the_table_lacks_is_refused(script: Callable[[str], ModuleType]) -> None:
    with pytest.raises(LookupError, match="family gpt-9 has no split"):
        script("speed_splits").split_of_family("gpt-9")


def test_no_structure_is_in_two_splits(rows: list[dict[str, str]]) -> None:
    splits = defaultdict(set)
    for row in rows:
        splits[row["structure"]].add(row["split"])
    assert all(len(sides) == 1 for sides in splits.values())


def test_no_graph_occurs_twice(rows: list[dict[str, str]]) -> None:
    assert max(Counter(row["fingerprint"] for row in rows).values()) == 1


def test_breadth(rows: list[dict[str, str]], script: Callable[[str], ModuleType]) -> None:
    kind = script("speed_splits").kind_of_family
    splits = Counter(row["split"] for row in rows)
    tested = [row for row in rows if row["split"] == "test"]
    assert len(rows) >= 150
    assert len({row["structure"] for row in rows}) >= 120
    assert splits["train"] >= len(rows) / 2
    assert len(tested) >= 45
    assert len({row["family"] for row in tested}) >= 12
    assert {"n-body", "ode", "reduction"} <= {row["family"] for row in tested}
    for split in ("train", "test"):
        assert {kind(row["family"]) for row in rows if row["split"] == split} == KINDS


def test_names_are_of_no_other_set() -> None:
    assert not set(corpus.load("speed").names) & set(corpus.load().names)


def test_datasheet_agrees_with_the_manifest(script: Callable[[str], ModuleType]) -> None:
    assert script("speed_datasheet").section() in (SPEED.parent / "README.md").read_text()


def test_weights_are_parameters() -> None:
    sizes = {path: path.stat().st_size for path in SPEED.rglob("*.zst")}
    assert [path for path, size in sizes.items() if size > 100_000] == []
    assert sum(sizes.values()) < 6_000_000


def test_modules_are_as_recorded() -> None:
    for benchmark in corpus.load("speed")[::16]:
        module = benchmark.load()
        found = (module.op_count, module.fingerprint(), module.structure())
        assert found == (benchmark.op_count, benchmark.fingerprint, benchmark.structure)


def test_sources_offer_recipes() -> None:
    """Sources need their libraries, so here they are read, not run."""
    sources = sorted((SPEED / "sources").glob("*.py"))
    assert len(sources) >= 10
    for path in sources:
        text = path.read_text(encoding="utf-8")
        functions = {
            node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
        }
        assert "recipes" in functions, path.name
        assert "http" not in text, path.name


def test_the_same_versions_make_the_same_files(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    """Builds again a family that needs jax alone, by the command that builds the set."""
    family = [row for row in rows if row["family"] == "searching"]
    if family[0]["version"] != version("jax"):
        pytest.skip("another version of jax than the set was built with")
    command = [sys.executable, "datasets/build_corpus.py", "--set", "speed"]
    command += ["--folder", str(tmp_path), "--source", "algorithms_sorting", "--only", "searching"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, check=True)
    with (tmp_path / "manifest.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == family
    for row in family:
        path = Path("hlo") / f"{row['name']}.hlo.zst"
        assert (tmp_path / path).read_bytes() == (SPEED / path).read_bytes()
