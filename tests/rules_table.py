"""Makes the tables of docs/rewrite-rules.md, and that of the rules of docs/kernels.md.

python -m tests.rules_table --write
"""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

import hlograph

_DOCS = Path(__file__).parent.parent / "docs"
PAGE = _DOCS / "rewrite-rules.md"
KERNELS = _DOCS / "kernels.md"


def xla_table() -> str:
    """Returns the table of the rules that are XLA's own code."""
    rows = [(f"`{r.name}`", f"`{r.xla_code}`", r.description) for r in hlograph.rules if r.xla_code]
    return _table(("rule", "code in namespace `xla`", "what it does"), rows)


def own_table() -> str:
    """Returns the table of our own rules that simplify, with the equation of each."""
    own = [r for r in hlograph.rules if r.equation and not (r.for_time or r.kernel)]
    rows = [(f"`{r.name}`", f"`{r.equation}`", r.description) for r in own]
    return _table(("rule", "equation", "what it does"), rows)


def forms_table() -> str:
    """Returns the table of the rules for time, with the class of their results."""
    rows = [
        (f"`{r.name}`", f"`{r.equation}`", r.description, "exact" if r.exact else "close")
        for r in hlograph.rules.for_time
    ]
    return _table(("rule", "equation", "what it does", "results"), rows)


def kernels_table() -> str:
    """Returns the table of the rules of native kernels."""
    rows = [
        (f"`{r.name}`", f"`{r.equation}`", r.description, "exact" if r.exact else "close")
        for r in hlograph.rules.of_kernels
    ]
    return _table(("rule", "what it replaces", "what the kernel does", "results"), rows)


def kernels_page(page: str) -> str:
    """Returns the page of kernels with the table of the present rules, its first."""
    return re.sub(r"(?:^\|.*\n)+", lambda _: kernels_table(), page, count=1, flags=re.MULTILINE)


def rewritten(page: str) -> str:
    """Returns the page with tables of the present rules."""
    tables = iter((xla_table(), own_table(), forms_table()))
    return re.sub(r"(?:^\|.*\n)+", lambda _: next(tables), page, flags=re.MULTILINE)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Prints or writes the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the pages, do not print them")
    write = parser.parse_args().write
    for path, change in ((PAGE, rewritten), (KERNELS, kernels_page)):
        page = change(path.read_text(encoding="utf-8"))
        if write:
            path.write_text(page, encoding="utf-8")
        else:
            print(page)


if __name__ == "__main__":
    main()
