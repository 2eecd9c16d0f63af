"""The folder for files that can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Returns ``$HLOGRAPH_CACHE``, or else ``~/.cache/hlograph``; it need not exist."""
    if given := os.environ.get("HLOGRAPH_CACHE"):
        return Path(given)
    return Path.home() / ".cache" / "hlograph"
