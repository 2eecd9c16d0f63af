"""The report of a search as text."""

from dataclasses import replace

from hlograph.optimization import Report
from hlograph.plans import Plan
from tests.hlograph.optimization.outcomes import made_outcome
from tests.hlograph.optimization.proposals import WIDTHS


def test_a_plan_that_several_methods_came_to_is_shown_once():
    narrow, wide, _ = (replace(plan, method=f"width {n}") for n, plan in enumerate(WIDTHS))
    outcomes = (
        made_outcome(narrow, ratio=1.2, thorough=False),
        made_outcome(wide, ratio=1.3, thorough=False),
        made_outcome(replace(wide, method="again wide"), ratio=1.3, thorough=False),
        made_outcome(wide, ratio=1.25),
        made_outcome(wide, ratio=1.24),
    )
    text = str(Report("f", Plan(), "nothing", "close", outcomes=outcomes))
    head, *rows = text[text.index("tried") :].splitlines()
    assert head.startswith("tried 2 plans")
    assert [row.split()[0] for row in rows] == ["1.250", "1.240", "1.300", "1.200"]
    assert [row.endswith("(again)") for row in rows] == [True, True, False, False]
    assert "again wide" not in text
