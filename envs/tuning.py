"""Environment that decides how XLA:CPU compiles a program."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Unpack

from envs.benchmark_env import BenchmarkEnv
from envs.benchmarks import BenchmarkSource, NamedModule
from envs.candidate_episode import observation_space
from envs.offers import OFFER_FEATURES, kind_numbers
from envs.rewards import Reward, resolve_reward, timed_states
from envs.settings import EnvSettings
from envs.step_result import StepResult
from envs.tuning_episode import TuningEpisode
from envs.validation import Validation
from hlograph.errors import HloError, UnknownNameError
from hlograph.execution.equivalence import Limits, NotComparableError
from hlograph.isolation.pass_call import noted
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.tuning.decision_process import DecisionProcess
from hlograph.tuning.kernel_seconds import PredictTime
from hlograph.tuning.offers import Offer

_KEPT = 64  # programs with their states


class TuningEnv(BenchmarkEnv[TuningEpisode]):
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
    ``candidates``       float32 ``[max_offers, len(OFFER_FEATURES)]``; 0 in the rows without an
                         offer. See ``envs.offers``.
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
    * v0: First version.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read when they are first chosen.
        numerics: Class of the results: ``"exact"``, ``"close"`` or ``"fast"``.
        predict: Predicts the time of a plan from its kernels; see
            ``hlograph.tuning.kernel_seconds``. None takes rates of work.
        max_offers: Largest number of decisions that are offered in one state.
        kinds: Kinds of decisions that are offered, of ``hlograph.tuning.offers.offer_kinds()``, in
            the order of their numbers; None is all.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        process: The process of the only benchmark, which goes on to be used by the caller; None
            makes one for each benchmark, from its HLO.
        **settings: See ``envs.settings.EnvSettings``.

    Raises:
        ValueError: A number is out of range, or the reward needs measured times.
        UnknownNameError: There is no such kind of decisions.
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
        process: DecisionProcess | None = None,
        **settings: Unpack[EnvSettings],
    ) -> None:
        if max_offers < 1:
            raise ValueError(f"expected room for at least 1 offer, got {max_offers}")
        if timed_states(resolve_reward(reward)) != "none":
            raise ValueError(f"expected a reward without measured times, got {reward!r}")
        super().__init__(
            benchmarks, max_offers + 1, stops=True, reward=reward, horizon=horizon, **settings
        )
        self._numerics: Numerics = numerics
        self._predict, self._max_offers, self._process = predict, max_offers, process
        self._numbers = kind_numbers(kinds)
        self.observation_space = observation_space(max_offers, len(OFFER_FEATURES))

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The decisions that are offered now, by action number."""
        return tuple(self._current.offered)

    @property
    def plan(self) -> Plan:
        """The plan of the decisions so far, for ``hlograph.optimize``."""
        return self._current.process.plan(self._current.tuning.point)

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

    def _begin(self, benchmark: NamedModule) -> TuningEpisode:
        with noted(self._recorder, "the default", "", benchmark.name, ()):
            process = self._process or _process(benchmark, self._numerics, self._predict)
            return TuningEpisode(
                benchmark, process, self._needs_costs, self._max_offers, self._numbers
            )

    def _act(self, episode: TuningEpisode, action: int) -> StepResult:
        offer, begin = episode.offered[action], time.perf_counter()
        about = (episode.fingerprint, episode.benchmark, episode.applied)
        if offer.name in self._quarantine.passes_at(episode.fingerprint):
            episode.withdraw(action)
            return StepResult(offer.name, error="it ended a process before")
        try:
            with noted(self._recorder, offer.name, *about):
                point = episode.process.after(episode.tuning.point, offer)
                tuning = episode.process.state(point)
        except HloError as error:
            episode.withdraw(action)
            episode.note(offer.name)
            return StepResult(
                offer.name, seconds=time.perf_counter() - begin, error=str(error)[:1000]
            )
        episode.decide(tuning)
        episode.note(offer.name)
        return StepResult(offer.name, changed=True, seconds=time.perf_counter() - begin)

    def _action_of(self, episode: TuningEpisode, name: str) -> int:
        names = [offer.name for offer in episode.offered]
        if name not in names:
            raise UnknownNameError.of("decision", name, names)
        return names.index(name)

    def _observe(self, episode: TuningEpisode) -> dict[str, Any]:
        return episode.observe()

    def _extra_info(self, episode: TuningEpisode) -> dict[str, Any]:
        return {
            "point": episode.tuning.point.to_json(),
            "num_offers": len(episode.found),
        }


@lru_cache(maxsize=_KEPT)
def _process(
    benchmark: NamedModule, numerics: Numerics, predict: PredictTime | None
) -> DecisionProcess:
    # Episodes share the states of a program, which take long to make.
    return DecisionProcess(Program.of(benchmark.load()), numerics, predict)
