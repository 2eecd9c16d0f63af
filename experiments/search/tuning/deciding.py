"""Plans of decisions that are taken one by one, by a trained policy or by predicted times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.policies.shipped import FOLDER
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Limits, OneWorker
from hlograph.measuring.trial import Outcome
from hlograph.optimization.methods.protocol import MakeMethod, Method
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.tuning.decision_process import DecisionProcess

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder

SHIPPED = FOLDER / "tuning-seed0.checkpoint"
"""The policy that comes with the project."""

_SECONDS, _MEMORY = 300.0, 16 << 30
_PRELOADED = ("experiments.search.tuning.episodes",)

# Sampled episodes in a row that lead to known plans, after which a policy has no more.
_MOST_KNOWN = 16

How = Literal["policy", "greedy"]


class Deciding:
    """Proposes the plan of a greedy episode, then those of sampled ones.

    Decisions are taken in a worker process, so that what ends it costs the method only.

    Args:
        name: Name of the method in reports.
        program: The program.
        numerics: Class of the results.
        how: ``policy`` plays a trained policy; ``greedy`` takes the decision that is predicted to
            save most, and samples nothing.
        checkpoint: The policy; None takes the one that comes with the project.
    """

    def __init__(
        self,
        name: str,
        program: Program,
        numerics: Numerics,
        how: How,
        checkpoint: Path | None = None,
    ) -> None:
        make = _MakeDecider(program, numerics, how, checkpoint or SHIPPED)
        self._name, self._how = name, how
        self._worker = OneWorker(make, Limits(seconds=_SECONDS, memory=_MEMORY), _PRELOADED)
        self._episodes = 0
        self._known = {Plan().digest}

    def ask(self) -> Plan | None:
        """Returns the next plan; None if there is none."""
        for _ in range(_MOST_KNOWN):
            if self._how == "greedy" and self._episodes:
                return None
            answer = self._worker.ask(self._episodes)
            self._episodes += 1
            if isinstance(answer, WorkerLostError | HloError):
                return None
            if answer.digest not in self._known:
                self._known.add(answer.digest)
                return replace(answer, method=self._name)
        return None

    def tell(self, outcome: Outcome) -> None:
        """Takes no note: the policy is as it was trained."""

    def close(self) -> None:
        """Ends the worker process."""
        self._worker.close()


def deciding(name: str, how: How) -> MakeMethod:
    """Returns the function that makes a method of ``hlograph.optimize``."""

    def make(program: Program, numerics: Numerics) -> Method:
        return Deciding(name, program, numerics, how)

    return make


policy = deciding("policy", "policy")
"""Makes the method that plays the policy which comes with the project."""

greedy = deciding("decisions-greedy", "greedy")
"""Makes the method that takes the decisions which are predicted to save most."""


@dataclass(frozen=True)
class _MakeDecider:
    """Makes the function that returns the plan of an episode, by its number; can be pickled."""

    program: Program
    numerics: Numerics
    how: How
    checkpoint: Path

    def __call__(self, recorder: FlightRecorder) -> Callable[[int], Plan | HloError]:
        """Returns the function, in the worker process."""
        plan = self._plan()

        def recorded(episode: int) -> Plan | HloError:
            recorder.begin(f"episode {episode}".encode())
            try:
                return plan(episode)
            except HloError as error:
                return error
            finally:
                recorder.end()

        return recorded

    def _plan(self) -> Callable[[int], Plan]:
        # These import torch: seconds that belong to the worker.
        from experiments.policies.tuning import predictor
        from experiments.search.tuning.episodes import PlayedPolicy, descended

        if self.how == "policy":
            return PlayedPolicy(self.program, self.numerics, self.checkpoint).plan
        process = DecisionProcess(self.program, self.numerics, predictor("learned"))
        return lambda _: process.plan(descended(process))
