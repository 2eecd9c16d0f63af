import re
import shutil

from benchmarks.compare_with_xla import PAGE, Comparison, parts
from benchmarks.tables import write_parts

KINDS = (
    Comparison(equal=True),
    Comparison(equal=False, convolutions=True),
    Comparison(equal=False, dots=True),
    Comparison(equal=False),
)


def recorded() -> tuple[dict[str, list[Comparison]], list[str]]:
    """Returns the comparisons and the unexplained benchmarks that the page has."""
    text = PAGE.read_text(encoding="utf-8")
    by_family = {}
    for family, *cells in re.findall(r"^\| ([\w-]+)" + r" \| (\d+)" * 5 + r" \|$", text, re.M):
        total, *counts = map(int, cells)
        by_family[family] = [kind for kind, n in zip(KINDS, counts, strict=True) for _ in range(n)]
        assert len(by_family[family]) == total
    told = re.search(r"not explained for ([^.]*)\.\n", text)
    return by_family, re.findall(r"`([^`]*)`", told[1]) if told else []


def test_page_is_what_the_program_writes(tmp_path):
    by_family, unexplained = recorded()
    results = [result for results in by_family.values() for result in results]
    assert len(results) == 1_483
    assert len(unexplained) == sum(not result.explained for result in results)
    page = tmp_path / PAGE.name
    shutil.copy(PAGE, page)
    write_parts(parts(by_family, unexplained), page)
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
