"""The Python examples of the documentation run."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Example, examples

EXAMPLES, LINES = 3, 150
"""Examples that the README shows at least, and lines that it has at most."""

_BUDGET = re.compile(r"\bbudget=\d+\b")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def searched_once(reader_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all pages use one store of plans: several search for the plan of one function."""
    monkeypatch.setenv("HLOGRAPH_CACHE", str(cache))


# torch-geometric, which to_pyg imports, does what newer versions of torch advise against.
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.page.stem)
def test_examples_of_a_page(example: Example, reader_folder: Path, searched_once: None, capsys):
    """The blocks of a page go on with the names of those before them; searches are shorter."""
    _run(example)
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    "example", examples("{code-cell} python3"), ids=lambda example: example.page.stem
)
def test_notebook(example: Example, reader_folder: Path, capsys):
    """Building the site runs them, too, as Jupyter does."""
    _run(example)
    assert capsys.readouterr().out


def _run(example: Example) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for line, block in example.blocks:
        # As many empty lines before it as the page has, so that errors name the page's lines.
        source = "\n" * (line - 1) + _BUDGET.sub("budget=1", block)
        code = compile(source, str(example.page), "exec")
        exec(code, names)


def test_readme_is_short_and_has_examples():
    readme = next(example for example in examples() if example.page == ROOT / "README.md")
    assert len(readme.blocks) >= EXAMPLES
    assert len(readme.page.read_text(encoding="utf-8").splitlines()) <= LINES
    assert len(PAGES) > 10
