"""The API reference describes each object once: Sphinx refuses to link a name to two places."""

import importlib
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import pytest

from tests.docs.pages import ROOT

PAGES = [page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "api").glob("*.md"))]
DIRECTIVE = re.compile(r"^\.\. ([\w:]+):: ([\w.]+)\n((?:   :.*\n)*)", re.MULTILINE)
OPTION = re.compile(r"^   :([\w-]+): *(.*)$", re.MULTILINE)


def doubled(pages: Iterable[str]) -> list[str]:
    """Returns the full names of the objects that pages describe more than once."""
    counts = Counter(name for page in pages for name in described(page))
    return sorted(name for name, count in counts.items() if count > 1)


def described(page: str) -> Iterator[str]:
    """Yields the full name of each object that a directive of a page describes."""
    package = ""
    for directive, argument, lines in DIRECTIVE.findall(page):
        options = dict(OPTION.findall(lines))
        name = argument if "." in argument else f"{package}.{argument}"
        if directive == "currentmodule":
            package = argument
        elif directive == "automodule":
            yield argument
            yield from (full_name(f"{argument}.{of}") for of in members(argument, options))
        elif directive.startswith("auto"):
            yield full_name(name)
        else:
            yield name


def members(name: str, options: Mapping[str, str]) -> list[str]:
    """Returns the members of a module that autodoc describes with these options."""
    if "no-members" in options:
        return []
    if names := options.get("members", "").replace(",", " ").split():
        return names
    module = importlib.import_module(name)
    public = {of: thing for of, thing in vars(module).items() if not of.startswith("_")}
    own = [of for of, thing in public.items() if getattr(thing, "__module__", "") == name]
    return list(getattr(module, "__all__", public if "imported-members" in options else own))


def full_name(name: str) -> str:
    """Returns the name by which a class or function was defined; of others, the name itself."""
    thing = pkgutil.resolve_name(name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    return name


def test_each_object_is_described_once():
    assert doubled(PAGES) == []


@pytest.mark.parametrize(
    ("directive", "name"),
    [
        (
            "autoclass:: hlograph.profiling.kernel_seconds.PredictTime\n   :special-members: x",
            "hlograph.profiling.kernel_seconds.PredictTime",
        ),
        ("autoclass:: hlograph.plans.program.Program", "hlograph.plans.program.Program"),
        (
            "autofunction:: hlograph.optimization.optimize",
            "hlograph.optimization.of_function.optimize",
        ),
        ("py:data:: envs.rewards.REWARDS\n   :type: dict", "envs.rewards.REWARDS"),
        ("automodule:: envs.info\n   :no-members:", "envs.info"),
    ],
)
def test_a_second_description_is_found(directive, name):
    assert name in doubled([*PAGES, f"# More\n\n```{{eval-rst}}\n.. {directive}\n```\n"])
