"""Reads the files of a site as the browser does."""

import json
import re
from typing import Any


def content_of(script: bytes) -> Any:
    """Returns what a data file hands to the page, read as JavaScript reads its literals."""
    call = re.fullmatch(r"hlograph\.data\('(?:[^'\\]|\\.)*','(.*)'\);\n", script.decode())
    assert call
    unescaped = re.sub(r"\\(u\w{4}|.)", lambda m: _character(m[1]), call[1])
    return json.loads(unescaped)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else escape
