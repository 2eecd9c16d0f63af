"""Info of ``reset`` and ``step``, under the same keys in all environments.

==================  ===============================================================================
Key                 Value
==================  ===============================================================================
``benchmark``       Name of the benchmark.
``step_name``       Name of the pass, place of the rewrite, or decision of the step; "stop" for
                    stopping; "masked" for a masked action that stands for no pass; None after
                    ``reset``.
``step_time``       Seconds of the step in XLA; 0.0 without ``timings``.
``changed``         True if the step changed the module.
``error``           XLA's message if the step failed, or None.
``num_steps``       Number of steps of the episode so far, stopping included.
``op_count``        Number of instructions in all computations.
``start_op_count``  The same at the start of the episode.
``size``            The count that rewards call op count: instructions, or kernels (at least 1) for
                    fusion decisions.
``start_size``      The same at the start of the episode.
``fingerprint``     Fingerprint of the module.
``action_mask``     int8 ``[num_actions]``; 0 where an action changes nothing.
==================  ===============================================================================

With ``costs``:

====================  =============================================================================
Key                   Value
====================  =============================================================================
``flops``             Floating-point operations of one run, by ``xla::HloCostAnalysis``; it counts
                      -1 for a custom call, whose cost it does not know.
``transcendentals``   Elements of exp, log, tanh and the like.
``bytes_accessed``    Bytes read and written by all instructions; -1 for a custom call.
``cost_changes``      Logarithms of flops and transcendentals over those at the start
                      (``envs.rewards.cost_changes``).
====================  =============================================================================

With a reward that needs run times:

====================  =============================================================================
Key                   Value
====================  =============================================================================
``run_time``          Time of one run in units of the start's; inf if the state does not run, None
                      if it was not timed.
``run_time_error``    Reason why the state does not run, or None.
====================  =============================================================================
"""

from __future__ import annotations

from typing import Any

from envs.episode import Episode
from envs.rewards import cost_changes
from hlograph.decisions.process import Step


def step_info(
    episode: Episode[Any], step: Step[Any], *, costs: bool, times: bool
) -> dict[str, Any]:
    """Returns the entries of info that all environments have; see this module.

    Args:
        episode: The episode after the step.
        step: The step.
        costs: True to tell costs.
        times: True to tell the time of the step.
    """
    info: dict[str, Any] = {
        "benchmark": episode.benchmark,
        "step_name": step.name,
        "step_time": step.seconds if times else 0.0,
        "changed": step.changed,
        "error": step.error,
        "num_steps": episode.num_steps,
        "op_count": episode.op_count,
        "start_op_count": episode.start_op_count,
        "size": episode.state.op_count,
        "start_size": episode.start.op_count,
        "fingerprint": episode.fingerprint,
        "action_mask": episode.mask.copy(),
    }
    if costs and episode.cost is not None:
        info |= episode.cost._asdict()
        info["cost_changes"] = cost_changes(episode.start, episode.state)
    return info
