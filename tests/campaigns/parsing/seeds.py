"""Small modules that are damaged to fuzz the parsers.

The files in `seed_corpus/` have the constructs of the grammar that the modules of the tests lack.
They need not make sense.
"""

from __future__ import annotations

from pathlib import Path

from tests.campaigns.framework.module_sets import SMALL
from tests.hlograph import samples


def _read(suffix: str) -> list[bytes]:
    folder = Path(__file__).with_name("seed_corpus")
    return [path.read_bytes() for path in sorted(folder.glob(f"*{suffix}"))]


HLO = _read(".hlo") + [text.encode() for text in (*samples.ALL.values(), *dict(SMALL).values())]
"""HLO texts, each a module that parses."""

STABLEHLO = _read(".mlir")
"""StableHLO texts that jaxlib converts."""
