"""The checked-in stubs describe the extensions as they are built."""

import pytest

from tests.extension_stub import EXTENSIONS, generate


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.stem)
def test_stub_is_current(path):
    assert path.read_text() == generate(EXTENSIONS[path]()), "run: make stub"
