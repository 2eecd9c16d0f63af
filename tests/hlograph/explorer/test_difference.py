import json
from typing import Any

import pytest

from hlograph import Module
from hlograph.explorer import difference
from hlograph.explorer.difference import ModuleDifference, difference_of
from hlograph.explorer.matching import Instructions
from tests.tiny_module import TINY


def run(module: Module, name: str) -> ModuleDifference:
    before = Instructions.of(module)
    module.run(name)
    return difference_of(before, Instructions.of(module))


def text_diff(content: dict[str, Any]) -> list[str]:
    lines = []
    for hunk in content["hunks"]:
        for sign, before, after in hunk["lines"]:
            row = content["after"][after] if before < 0 else content["before"][before]
            lines.append(f"{sign} {row['line']}")
    return lines


def test_a_difference_has_its_text_and_its_graph() -> None:
    found = run(Module.from_text(TINY), "cse")

    assert found.counts() == {"added": 0, "removed": 1, "modified": 1, "renamed": 0}
    assert text_diff(found.content)[-5:] == [
        "  a = f32[4]{0} exponential(p)",
        "- b = f32[4]{0} exponential(p)",
        "- sum = f32[4]{0} add(a, b)",
        "+ sum = f32[4]{0} add(a, a)",
        "  ROOT doubled = f32[4]{0} call(sum), to_apply=double",
    ]
    (region,) = found.content["regions"]
    before, after = found.content["before"], found.content["after"]
    assert region["computation"] == "main"
    assert region["changes"] == 2
    assert {before[n]["name"]: before[n]["mark"] for n in region["before"]} == {
        "p": "",
        "a": "",
        "b": "removed",
        "sum": "changed",
        "doubled": "",
    }
    assert {after[n]["name"] for n in region["after"]} == {"p", "a", "sum", "doubled"}
    merged = next(row for row in after if row["name"] == "sum")
    assert [after[operand]["name"] for operand in merged["operands"]] == ["a", "a"]
    assert before[merged["match"]]["name"] == "sum"


def test_a_root_and_what_takes_its_place_are_in_one_region() -> None:
    content = run(Module.from_text(TINY), "call-inliner").content

    regions = [
        {content["before"][n]["name"] for n in region["before"]}
        | {content["after"][n]["name"] for n in region["after"]}
        for region in content["regions"]
    ]
    assert any({"doubled", "two_x.1"} <= region for region in regions)


def test_all_changes_of_a_pass_are_described(corpus_module: Module) -> None:
    module = corpus_module.clone()

    found = run(module, "call-inliner")

    content = found.content
    assert content["left_out"] == 0
    assert sum(row["mark"] == "removed" for row in content["before"]) == found.removed
    assert sum(row["mark"] == "added" for row in content["after"]) == found.added
    assert sum(row["mark"] == "changed" for row in content["after"]) == found.modified
    assert sum(region["changes"] for region in content["regions"]) == (
        found.added + found.removed + found.modified
    )
    signs = [line[0] for hunk in content["hunks"] for line in hunk["lines"]]
    assert signs.count("-") >= found.removed + found.modified
    assert signs.count("+") >= found.added + found.modified
    for region in content["regions"]:
        assert len(region["before"]) <= 200
        assert len(region["after"]) <= 200
    assert json.loads(json.dumps(content)) == content


def test_what_is_left_out_is_counted(
    corpus_module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(difference, "MOST_CHANGES", 10)

    found = run(corpus_module.clone(), "call-inliner")

    described = sum(region["changes"] for region in found.content["regions"])
    assert described == 10
    assert found.content["left_out"] == found.added + found.removed + found.modified - 10


def test_long_constants_are_cut() -> None:
    values = ", ".join("1" for _ in range(2000))
    text = f"HloModule m\nENTRY e {{ ROOT c = f32[2000] constant({{{values}}}) }}"
    after = text.replace("{1,", "{2,")

    found = difference_of(
        Instructions.of(Module.from_text(text)), Instructions.of(Module.from_text(after))
    )

    assert found.modified == 1
    assert len(found.content["after"][0]["line"]) < 500
