"""The names of the package are resolved on first use, and importing it is light."""

import pkgutil
import subprocess
import sys

import pytest

import hlograph
from hlograph._checkout import PACKAGES

HEAVY = ("torch", "jax", "jaxlib", "tensorflow", "hlograph._xla", "hlograph.module")


def _loaded_after(program: str) -> list[str]:
    program += f"\nimport sys; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_importing_loads_neither_the_extension_nor_frameworks():
    program = "import hlograph\nhlograph.OPCODES, hlograph.HloError, dir(hlograph)"
    assert _loaded_after(program) == []
    assert _loaded_after("import hlograph.corpus, hlograph.errors") == []
    program = "import hlograph; hlograph.Module, hlograph.parse, hlograph.rules, hlograph.pipelines"
    assert _loaded_after(program) == ["hlograph.module"]
    assert _loaded_after(f"{program}; len(hlograph.rules)") == ["hlograph._xla", "hlograph.module"]


def test_no_public_name_is_that_of_a_subpackage():
    """Importing the subpackage would put it in the place of the value."""
    names = {module.name for module in pkgutil.iter_modules(hlograph.__path__)}
    names |= set(PACKAGES)  # which a checkout has beside the library
    assert set(hlograph.__all__) & names == {"corpus"}  # a subpackage that is public itself


@pytest.mark.parametrize("name", hlograph.__all__)
def test_every_listed_name_exists_where_it_says(name):
    assert name in dir(hlograph)
    value = getattr(hlograph, name)
    assert getattr(hlograph, name) is value
    # A class or function is found again in the module that it names, as help and pickle do.
    if isinstance(value, type) or callable(value):
        assert getattr(sys.modules[value.__module__], value.__qualname__) is value
        assert value.__doc__


def test_unknown_attributes():
    with pytest.raises(AttributeError, match="module 'hlograph' has no attribute 'pass'"):
        getattr(hlograph, "pass")
