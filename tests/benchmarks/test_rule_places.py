"""benchmarks.rule_places: rules, and the programs that they apply to."""

import csv

from benchmarks.rule_places import main


def test_rules_and_programs(tmp_path, capsys):
    out = tmp_path / "places.csv"
    chosen = ["--rules", "gather-as-slices", "sort-*", "--benchmarks", "sorting/bitonic/*"]
    assert main([*chosen, "--out", str(out)]) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["rule"] for row in rows} == {"gather-as-slices"}
    assert {row["split"] for row in rows} == {"train"}
    assert all(int(row["places"]) > 0 and 0 <= float(row["share"]) <= 1 for row in rows)
    table = capsys.readouterr().out.splitlines()
    (line,) = [line for line in table if line.startswith("gather-as-slices ")]
    programs = len({row["program"] for row in rows})
    places = sum(int(row["places"]) for row in rows)
    assert [int(count) for count in line.split()[1:]] == [programs, 0, 0, places]
