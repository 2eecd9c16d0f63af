"""Steps of an episode by name: passes, and rewrites by their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlograph.module import Module


def is_place(step: str) -> bool:
    """Whether a step's name is the place of a rewrite, and not a pass."""
    # No pass has brackets in its name, and every place of a rewrite has.
    return "(" in step


def take_step(module: Module, step: str) -> bool:
    """Runs a pass on a module, or applies a rewrite.

    Args:
        module: The module, which is changed.
        step: Name of the pass, or place of the rewrite.

    Returns:
        Whether it changed the module, as XLA reports it.

    Raises:
        PassError: The pass returned an error; the module is as before.
        RewriteError: The rewrite does not apply, or returned an error; the module is as before.
        UnknownNameError: There is no such pass or rule.
    """
    if not is_place(step):
        return module.run(step)
    module.apply(step)
    return True
