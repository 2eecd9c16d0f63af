"""Names of the wheel in a checkout, where ``hlograph.envs`` is the package ``envs`` beside it.

The wheel has ``envs``, ``models`` and a part of ``experiments`` in ``hlograph``, so that no generic
name lands in site-packages. In a checkout both names are of the same module.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = ("envs", "models", "experiments")
"""Names of the packages."""

_LIBRARY = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (imported by all)
_CHECKOUT = os.path.dirname(_LIBRARY)  # noqa: PTH120


def find_packages_beside() -> None:
    """Has ``hlograph.envs`` and the others found beside ``hlograph``, unless it has them itself."""
    if not os.path.isdir(os.path.join(_LIBRARY, PACKAGES[0])):  # noqa: PTH112, PTH118
        # Before the finder of files, which would make a second module of each file.
        finder: Any = _Finder()
        sys.meta_path.insert(0, finder)


class _Finder:
    """Finds ``hlograph.envs.tuning`` where ``envs.tuning`` is, and has both be one module.

    It is a finder and a loader. The classes of ``importlib.abc`` would take longer to import than
    all of ``hlograph``.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of a module of the packages; None for all others."""
        library, _, name = fullname.partition(".")
        if library != "hlograph" or name.partition(".")[0] not in PACKAGES:
            return None
        spec = importlib.util.find_spec(name)
        # Another package of so generic a name may come first on the path.
        if spec is None or not (spec.origin or "").startswith(_CHECKOUT + os.sep):
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader, origin=spec.origin, is_package=spec.loader is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leaves the new module to Python; ``exec_module`` puts another in its place."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts the module of the package beside in the place of the new one."""
        name = module.__name__.partition(".")[2]
        sys.modules[module.__name__] = importlib.import_module(name)
