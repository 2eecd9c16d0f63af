"""The code that carries out plans: what was found with one version may not hold with another.

What a step, a layout or a placement does may change with hlograph. Flags are carried out by jaxlib
alone.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

from hlograph import plans, programs, transforms
from hlograph.plans import Plan


@functools.cache
def rules_digest() -> str:
    """Returns a digest of the code that says what steps, layouts and placements do."""
    digest = hashlib.sha256()
    found = importlib.util.find_spec("hlograph._xla")
    code = [Path(found.origin)] if found is not None and found.origin is not None else []
    for package in (plans, programs, transforms):
        code += sorted(Path(package.__path__[0]).rglob("*.py"))
    for path in code:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def rules_of(plan: Plan) -> str:
    """Returns the digest of the code that carries out a plan; empty for flags alone."""
    return rules_digest() if plan.steps or plan.layouts or plan.placements else ""
