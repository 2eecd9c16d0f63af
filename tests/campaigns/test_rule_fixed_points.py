"""Comparison of rules with the passes that they are a part of."""

import json
from dataclasses import replace

import pytest

import hlograph
from hlograph import Module, UnknownNameError
from hlograph.transforms.rules import Rule
from tests.campaigns.rule_fixed_points import (
    FixedPointsConfig,
    compare,
    main,
    pass_of,
    rewrite_to_fixed_point,
    run,
    run_to_fixed_point,
    write_report,
)
from tests.hlograph import rare_modules
from tests.hlograph.transforms.small_programs import small_programs

RULES = [rule for rule in hlograph.rules if pass_of(rule) is not None]
# These run dce, or more, on the whole module behind themselves; one rewrite does not.
CLEARING = ("inline", "simplify-while-loops", "while-loop-invariant-code-motion")
# These rules end in other programs, for the reasons in docs/rule-fixed-points.md.
OTHER_PROGRAMS = ("algebraic", "constant_folding", "sharding-remover")
# On these modules only: parameters without elements, and branches that two conditionals share.
OTHER_RARE = {
    ("EMPTY_ARRAYS", "zero_sized_hlo_elimination"): -2,
    ("CONDITIONALS", "conditional-canonicalizer"): 12,
}


@pytest.fixture(scope="module")
def programs() -> list[Module]:
    return [benchmark.load() for benchmark in small_programs(30)]


def _sums(module: Module) -> int:
    """Returns the number of computations of a sum that the simplifier made."""
    return sum(line.startswith("scalar_add_") for line in module.to_text().splitlines())


def test_all_rules_of_xla_have_their_pass_but_those_of_fusion():
    without = {rule.name for rule in hlograph.rules if rule.xla_code} - {r.name for r in RULES}
    assert without == {"fusion", "multi-output-fusion"}
    entries = [pass_of(rule) for rule in RULES]
    assert len({entry.name for entry in entries if entry is not None}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_until_none_is_left_is_its_pass_at_its_fixed_point(rule: Rule, programs):
    for module in programs:
        comparison = compare(module, rule)
        if comparison is None:
            continue
        if rule.name == "reshape-mover" and not comparison.ended:
            continue  # it moves transposes for ever
        assert comparison.ended
        assert comparison.by_rule <= comparison.by_pass or rule.name in (*CLEARING, *OTHER_PROGRAMS)
        if rule.name not in OTHER_PROGRAMS:
            assert comparison.same
        if comparison.same:
            assert comparison.cleared_by_rule == comparison.cleared_by_pass
        else:
            assert comparison.equivalence in ("equal", "close", "not comparable")


def test_simplified_one_by_one_only_the_computations_of_sums_are_more(programs):
    rule = hlograph.rules["algebraic"]
    differences = []
    for module in programs:
        rewritten = module.clone()
        rewritten.run("dynamic-index-splitter")  # as algsimp does
        other = rewritten.clone()
        rewrite_to_fixed_point(rewritten, rule, 5_000)
        run_to_fixed_point(other, hlograph.passes["algsimp"])
        for result in (rewritten, other):
            result.run("dce")
        assert rewritten.op_count - 3 * _sums(rewritten) == other.op_count - 3 * _sums(other), (
            module.name
        )
        differences.append(rewritten.op_count - other.op_count)
    assert max(differences) > 0


def test_constants_folded_one_by_one_differ_only_by_those_that_several_callers_pass(programs):
    rule = hlograph.rules["constant_folding"]
    comparisons = [compare(module, rule) for module in programs]
    same = [each.same for each in comparisons if each is not None]
    assert sum(same) >= 0.7 * len(same)
    inlined = []
    for module in programs:
        module = module.clone()
        module.run("call-inliner")
        inlined.append(compare(module, rule))
    assert all(each is None or each.same for each in inlined)


@pytest.mark.parametrize("name", rare_modules.ALL)
def test_rules_of_operations_that_the_corpus_lacks(name: str):
    module = Module.from_text(rare_modules.ALL[name])
    for rule in RULES:
        try:
            comparison = compare(module, rule)
        except hlograph.PassError:
            continue  # the pass refuses the module, as test_pass_regressions.py has it
        if comparison is None or (rule.name == "reshape-mover" and not comparison.ended):
            continue
        more = comparison.cleared_by_rule - comparison.cleared_by_pass
        assert more == OTHER_RARE.get((name, rule.name), 0), rule.name
        assert comparison.same == (more == 0), rule.name
        assert comparison.equivalence in ("", "equal")


def test_a_rule_that_is_given_up_says_so():
    module = Module.from_text(rare_modules.ALL["ELEMENTWISE"])
    comparison = compare(module, hlograph.rules["algebraic"], max_rewrites=0)
    assert comparison is None or not comparison.ended


def test_the_program_writes_lines_and_a_table(tmp_path):
    page = tmp_path / "page.md"
    arguments = ["--out", str(tmp_path / "out"), "--page", str(page), "--max-ops", "60"]
    rules = ["merge", "algebraic", "eigh_expander"]
    assert main([*arguments, "--rules", *rules, "--workers", "0"]) == 0
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    names = {result["name"] for line in lines for result in json.loads(line)["results"]}
    assert names == {"merge", "algebraic"}
    text = page.read_text()
    assert "| `merge` | `cse` |" in text
    assert "changes any of these modules: `eigh_expander`." in text
    assert "--max-ops 60" in text
    assert str(tmp_path) not in text


def test_workers_find_the_same(tmp_path):
    config = FixedPointsConfig(
        out=tmp_path / "2", rules=("merge",), max_ops=80, per_family=1, prepare=("call-inliner",)
    )
    assert run(config) == run(replace(config, out=tmp_path / "0", workers=0)) == 0
    texts = [(tmp_path / folder / "report.md").read_text() for folder in "20"]
    assert texts[0] == texts[1]
    assert "| `merge` | `cse` |" in texts[0]


def test_what_did_not_end_and_what_differs_is_reported():
    comparison = {
        "name": "algebraic", "start": 9, "rewrites": 7, "runs": 1, "ended": True,
        "by_rule": 12, "by_pass": 9, "cleared_by_rule": 12, "cleared_by_pass": 9, "same": False,
        "equivalence": "close",
    }  # fmt: skip
    lost = {"name": "merge", "verdict": "crashed", "reason": "SIGABRT"}
    endless = comparison | {"name": "reshape-mover", "ended": False}
    line = {"benchmark": "a", "op_count": 9, "results": [comparison, lost, endless]}
    report = write_report([line], ["algebraic", "merge"], [], FixedPointsConfig())
    assert "| `algebraic` | `algsimp` | 1 | 7 | 0 | 0 | 0 |  | 1 (by 3) |" in report
    assert "`reshape-mover` or its pass reached no fixed point on 1 modules" in report
    assert "`merge` on `a`: crashed: SIGABRT" in report
    assert "| `algebraic` | `a` | 9 | 12 | 9 | +3 |" in report
    assert "by XLA's evaluator: 1 close." in report


def test_names_are_checked_before_anything_runs(tmp_path):
    with pytest.raises(UnknownNameError, match="merge"):
        run(FixedPointsConfig(out=tmp_path, rules=("merg",)))
    with pytest.raises(ValueError, match="have a pass, got factor-dots"):
        run(FixedPointsConfig(out=tmp_path, rules=("factor-dots",)))
    with pytest.raises(UnknownNameError):
        run(FixedPointsConfig(out=tmp_path, prepare=("no-such-pass",)))
