"""Episodes of decisions about one program that a policy plays."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from envs.tuning import TuningEnv
from experiments.policies.checkpoint import load_policy
from experiments.policies.player import Episodes, play_drawn, play_greedily
from experiments.policies.tuning import TuningKind, predictor
from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.plan_states import PlanStates
from hlograph.errors import HloError
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Point
from hlograph.storage.locations import Location

_FIRST_STATES = 4
"""An episode may take as many times as long as its first state."""


class Decided(NamedTuple):
    """Decisions about a program.

    Attributes:
        point: The decisions.
        plan: Their plan.
    """

    point: Point
    plan: Plan

    @classmethod
    def of(cls, process: PlanStates, point: Point) -> "Decided":
        """Returns the decisions of a point with their plan."""
        return cls(point, process.plan(point))


class PlayedPolicy:
    """Plays a trained policy on one program.

    Args:
        program: The program.
        numerics: Class of the results.
        checkpoint: File of the policy.
        seconds: Time of the processor in an episode after which no further decision is taken,
            because the best state mostly comes early; longer if the first state alone takes long.
            None is no limit.
        computing: See ``PlanStates``.

    Raises:
        HloError: The file holds no policy that decides how programs are compiled, or one of
            another version of hlograph.
    """

    def __init__(
        self,
        program: Program,
        numerics: Numerics,
        checkpoint: Location,
        seconds: float | None = None,
        computing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._seconds = seconds
        self._limit: float | None = None
        try:
            kind, self._policy = load_policy(checkpoint)
        except ValueError as error:  # it was trained with other features of actions
            raise HloError(f"{checkpoint}: {error}") from error
        if not isinstance(kind, TuningKind):
            raise HloError(f"expected a policy over plans in {checkpoint}, got {kind.name}")
        config = kind.config
        module = program.module()
        self._process = PlanStates(program, numerics, predictor(config.times), computing)
        env = TuningEnv(
            [NamedModule(program.name, lambda: module)],
            numerics=numerics,
            max_offers=config.max_offers,
            kinds=kind.action_names,
            horizon=config.play_horizon,
            costs=kind.costs,
            process=self._process,
        )
        self._name, self._env, self._kind = program.name, env, kind

    def decided(self, episode: int) -> Decided:
        """Returns what an episode decided.

        Args:
            episode: Its number; the first one, 0, is greedy, and the others draw their actions.

        Raises:
            HloError: A state cannot be compiled.
        """
        if self._seconds is not None and self._limit is None:
            begun = time.process_time()
            self._process.state(Point())
            self._limit = max(self._seconds, _FIRST_STATES * (time.process_time() - begun))
        # A search may keep an episode waiting while it measures.
        limit = {"seconds": self._limit, "clock": time.process_time}
        episodes = Episodes(self._kind, self._policy, lambda: self._env)
        if episode == 0:
            (played,) = play_greedily(episodes, [self._name], **limit)
        else:
            played = play_drawn(episodes, self._name, episode, **limit)
        return Decided.of(self._process, self._process.follow(played.passes))
