"""Makes the tables of docs/rewrite-rules.md.

python -m tests.rules_table --write
"""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

import hlograph

PAGE = Path(__file__).parent.parent / "docs" / "rewrite-rules.md"


def xla_table() -> str:
    """Returns the table of the rules that are XLA's own code."""
    rows = [(f"`{r.name}`", f"`{r.xla_code}`", r.description) for r in hlograph.rules if r.xla_code]
    return _table(("rule", "code in namespace `xla`", "what it does"), rows)


def own_table() -> str:
    """Returns the table of our own rules that simplify, with the equation of each."""
    own = [r for r in hlograph.rules if r.equation and not r.for_time]
    rows = [(f"`{r.name}`", f"`{r.equation}`", r.description) for r in own]
    return _table(("rule", "equation", "what it does"), rows)


def forms_table() -> str:
    """Returns the table of the rules for time, with the class of their results."""
    rows = [
        (f"`{r.name}`", f"`{r.equation}`", r.description, "exact" if r.exact else "close")
        for r in hlograph.rules.for_time
    ]
    return _table(("rule", "equation", "what it does", "results"), rows)


def rewritten(page: str) -> str:
    """Returns the page with tables of the present rules."""
    tables = iter((xla_table(), own_table(), forms_table()))
    return re.sub(r"(?:^\|.*\n)+", lambda _: next(tables), page, flags=re.MULTILINE)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Prints or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="write the page instead of printing it"
    )
    page = rewritten(PAGE.read_text(encoding="utf-8"))
    if parser.parse_args().write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
