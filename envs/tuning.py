"""Environment that decides how XLA:CPU compiles a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from envs.decision_env import DecisionEnv
from envs.episode import Episode
from envs.observations import ActionsObservation
from envs.rewards import Reward, resolve_reward, timed_states
from envs.settings import EnvSettings, isolation, shown
from envs.validation import Validation
from hlograph.decisions.benchmarks import BenchmarkSource
from hlograph.decisions.plan_states import PlanAction, PlanStates
from hlograph.decisions.plans import PLAN_FEATURES, LivePlan, PlanProcess, PlanState
from hlograph.execution.equivalence import Limits, NotComparableError
from hlograph.plans import Numerics, Plan
from hlograph.profiling.kernel_seconds import PredictTime


class TuningEnv(DecisionEnv[PlanState]):
    """Environment that decides, one choice after the other, how jaxlib compiles a program.

    The choices are those of ``hlograph.optimize``: a rule for time wherever it applies, a flag, and
    for each kind of places (equal work on equal shapes) its library, its parts for threads, its
    fusion. So a plan takes tens of decisions. The state is the module that XLA:CPU optimizes the
    program to with the decisions so far; no code is generated for it and nothing is run. Times are
    predicted.

    ## Action space
    ``Discrete(max_offers + 1)``. Action i takes the decision ``env.offers[i]``; the last action
    stops. The mask is 0 where nothing is offered, and for a decision that failed in this state.
    Where more is offered than there are actions, rules and flags stay, and what is about the least
    of the predicted time goes.

    ## Observation space
    A ``Dict``, as that of ``RewriteEnv``.

    ===================  ==========================================================================
    Key                  Value
    ===================  ==========================================================================
    ``graph``            Typed graph of the optimized module, as in ``PassOrderingEnv``.
    ``op_counts``        Its instructions by opcode, float32 ``[len(OPCODES)]``.
    ``action_mask``      int8 ``[max_offers + 1]``.
    ``candidates``       float32 ``[max_offers, len(PLAN_FEATURES)]``; 0 in the rows without an
                         offer. See ``hlograph.decisions.plans``.
    ``candidate_links``  int64 ``[L, 3]``: offer, node of the graph that it is about, and 0.
    ===================  ==========================================================================

    ## Reward
    One of ``envs.rewards``, where the op count is the predicted time of a run in nanoseconds:
    ``log-drop`` (the default) is 100 ln(before / after), less a price for each decision. Rewards
    of measured times are not to be had here; measure ``env.plan``.

    ## Episode end
    Stopping terminates the episode; the horizon truncates it. A decision that fails leaves the
    state as it was; it is masked in this state and does not end the episode. A masked action
    changes nothing; it counts as a step.

    ## Info
    The keys of ``envs.info``. For this environment:

    ==================  ===========================================================================
    Key                 Value
    ==================  ===========================================================================
    ``step_name``       Name of the decision, such as ``rule gather-after-dot``; "masked" for a
                        masked action.
    ``step_time``       Seconds until XLA has optimized the program with the decision, and what is
                        offered next is known.
    ``size``            Predicted nanoseconds of a run.
    ``point``           The decisions so far as JSON, which identifies the state.
    ``num_offers``      Number of decisions that can be taken, offered or not.
    ==================  ===========================================================================

    ## Version history
    * v0: First version. After hlograph 0.1.0 times are predicted by trees unless ``predict`` says
      otherwise, and ``candidates`` have a fifth column, ``gain``.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read when they are first chosen.
        numerics: Class of the results: ``"exact"``, ``"close"`` or ``"fast"``.
        predict: Predicts the time of a plan from its kernels; see
            ``hlograph.profiling.kernel_seconds``. None takes the trees that come with hlograph,
            which also predict what each decision brings.
        max_offers: Largest number of decisions that are offered in one state.
        kinds: Kinds of actions, of ``hlograph.decisions.plan_states.action_kinds()``, in the order
            of their numbers; None is all.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        process: The process of the only benchmark, which goes on to be used by the caller; None
            makes one for each benchmark, from its HLO.
        **settings: See ``envs.settings.EnvSettings``.

    Raises:
        ValueError: A number is out of range, or the reward needs measured times.
        UnknownNameError: There is no such kind of actions.
    """

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        numerics: Numerics = "close",
        predict: PredictTime | None = None,
        max_offers: int = 96,
        kinds: Sequence[str] | str | None = None,
        reward: str | Reward = "log-drop",
        horizon: int = 24,
        process: PlanStates | None = None,
        **settings: Unpack[EnvSettings],
    ) -> None:
        if timed_states(resolve_reward(reward)) != "none":
            raise ValueError(f"expected a reward without measured times, got {reward!r}")
        plans = PlanProcess(numerics, predict, kinds, max_offers, process, **isolation(settings))
        super().__init__(plans, benchmarks, reward=reward, horizon=horizon, **shown(settings))
        self._observation = ActionsObservation(max_offers, len(PLAN_FEATURES))
        self.observation_space = self._observation.space

    @property
    def offers(self) -> tuple[PlanAction, ...]:
        """The decisions that are offered now, by action number."""
        return tuple(self._current.player.state.offered)

    @property
    def plan(self) -> Plan:
        """The plan of the decisions so far, for ``hlograph.optimize``."""
        player = self._current.player
        assert isinstance(player, LivePlan)
        return player.plan()

    def validate(
        self, *, samples: int = 2, seed: int = 0, limits: Limits | None = None
    ) -> Validation:
        """Raises ``NotComparableError``: the module is jaxlib's, with calls of its libraries.

        ``hlograph.optimize`` compares the outputs of ``plan`` with the default's.
        """
        del samples, seed, limits
        raise NotComparableError(
            "expected a module that hlograph's XLA runs, got one of jaxlib's, with calls of its "
            "libraries; hlograph.optimize(function, plan=env.plan) compares the plan's outputs"
        )

    def _observe(self, episode: Episode[PlanState]) -> dict[str, Any]:
        table = self.process.table(episode.player)
        return self._observation.compose(table, episode.op_counts_by_opcode, episode.mask)

    def _extra_info(self, episode: Episode[PlanState]) -> dict[str, Any]:
        state = episode.player.state
        return {"point": state.at.point.to_json(), "num_offers": len(state.possible)}
