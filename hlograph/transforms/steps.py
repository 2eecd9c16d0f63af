"""Steps of an episode by name: passes, and places of rewrites."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlograph.module import Module


def is_place(step: str) -> bool:
    """Returns True if the name of a step is the place of a rewrite, False if it is a pass."""
    # Every place of a rewrite contains brackets, and no pass name does.
    return "(" in step


def take_step(module: Module, step: str) -> bool:
    """Runs a pass or pipeline on a module, or applies a rewrite.

    Args:
        module: The module; it is changed in place.
        step: Name of the pass or pipeline, or place of the rewrite.

    Returns:
        True if XLA reports that the step changed the module.

    Raises:
        PassError: A pass returned an error; the module is as before.
        RewriteError: The rewrite does not apply, or returned an error; the module is as before.
        UnknownNameError: There is no such pass, pipeline or rule.
    """
    if not is_place(step):
        return module.run(step)
    module.apply(step)
    return True
