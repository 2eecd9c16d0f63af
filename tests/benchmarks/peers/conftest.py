"""Workers of peers set up their process, which here is that of the tests."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def usual_width() -> Iterator[None]:
    """Gives numbers their usual width again: programs of NPBench have 64 bits."""
    wide = jax.config.read("jax_enable_x64")
    yield
    jax.config.update("jax_enable_x64", wide)
