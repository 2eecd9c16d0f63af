"""Environment that chooses which rewrite is applied next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Unpack

from envs.decision_env import DecisionEnv
from envs.episode import Episode
from envs.observations import ActionsObservation
from envs.rewards import Reward
from envs.settings import EnvSettings, isolation, listed, shown
from hlograph.decisions.benchmarks import BenchmarkSource
from hlograph.decisions.rewrites import Candidate, RewriteProcess, RewriteState, feature_names
from hlograph.errors import UnknownNameError
from hlograph.transforms.registry import passes
from hlograph.transforms.rules import Rule, rules
from hlograph.transforms.sweeping import PREPARATION


class RewriteEnv(DecisionEnv[RewriteState]):
    """Environment that chooses which rewrite to apply next to an HLO module.

    A rewrite is a single simplification of one of XLA's passes, at one place, or with
    ``rules="for-time"`` another form of a computation. Source of the idea: X-RLflow (He et al.
    2023), which offers the candidate graphs of tensor rewrites.

    ## Action space
    ``Discrete(max_candidates + 1)``. Action i applies ``env.candidates[i]``; the last action stops.
    The mask is 0 where there is no candidate, and for a candidate that failed in this state. Where
    more rewrites apply than there are actions, rules take turns
    (``hlograph.decisions.rewrites.chosen``). With ``sweeps``, a candidate may also be a rule at all
    places where it applies, or where that leaves fewer instructions, in one step.

    ## Observation space
    A ``Dict``. ``graph`` and ``candidate_links`` together are X-RLflow's meta-graph: a node for
    each candidate, linked to all nodes that it touches.

    ===================  ==========================================================================
    Key                  Value
    ===================  ==========================================================================
    ``graph``            Typed graph, as in ``PassOrderingEnv``.
    ``op_counts``        Instructions by opcode, float32 ``[len(OPCODES)]``.
    ``action_mask``      int8 ``[max_candidates + 1]``.
    ``candidates``       float32 ``[max_candidates, len(CANDIDATE_FEATURES)]``; 0 in the rows
                         without a candidate. ``PREDICTED_FEATURE`` is one more column with
                         ``predict``, and ``PLACES_FEATURE`` with ``sweeps``.
    ``candidate_links``  int64 ``[L, 3]``: candidate, node of the graph, and index of the role in
                         ``ROLES``.
    ===================  ==========================================================================

    ## Reward
    One of ``envs.rewards``. ``op-count-drop`` (the default), ``cost-drop`` and ``run-time`` have
    the form of X-RLflow's reward, 100 (before - after) / start, and so has
    ``predicted-seconds-drop``, of ``Module.seconds``. ``run-time`` measures it after each step;
    ``final-run-time`` pays it with the last step.

    ## Episode end
    Stopping terminates the episode; the horizon truncates it (terminates it with
    ``final-run-time``). A rewrite that fails leaves the module as it was; it is masked in this
    state and does not end the episode. A masked action changes nothing; it counts as a step.

    ## Info
    The keys of ``envs.info``. For this environment:

    ==================  ===========================================================================
    Key                 Value
    ==================  ===========================================================================
    ``step_name``       Place of the rewrite, such as ``algebraic(add.1)``, or ``algebraic(*)`` and
                        ``algebraic(-)`` for sweeps; "masked" for a masked action.
    ``step_time``       Seconds of applying the rewrite and of listing the rewrites that apply
                        afterwards.
    ``size``            Number of instructions, the same as ``op_count``.
    ``num_applicable``  Number of rewrites that apply, offered or not.
    ==================  ===========================================================================

    ## Version history
    * v0: First version.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read when they are first chosen.
        rules: Rules of ``hlograph.rules``, their names, or patterns such as ``"sort-*"``; one or
            several. ``"general"`` (the default) and ``"for-time"`` are groups of rules.
        prepare: Names of passes that run on each benchmark before its episodes. None:
            ``call-inliner`` if a rule is for time, whose patterns do not reach into calls.
        predict: True if candidates have a feature of their predicted seconds, and those that save
            the most are offered where there are too many. The default leaves the observations as
            the policies that come with the project were trained on.
        sweeps: True to offer, beside the rewrites, the sweeps of two places or more
            (``Module.sweep``). Episodes take a tenth of the steps.
        max_candidates: Largest number of candidates in one state.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        **settings: See ``envs.settings.EnvSettings``. ``quarantine`` also holds listings of rules.
    """

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        rules: Sequence[RuleChoice] | str | None = None,
        prepare: Sequence[str] | str | None = None,
        predict: bool = False,
        sweeps: bool = False,
        max_candidates: int = 64,
        reward: str | Reward = "op-count-drop",
        horizon: int = 40,
        **settings: Unpack[EnvSettings],
    ) -> None:
        self.rules = chosen_rules(rules)
        process = RewriteProcess(
            self.rules,
            preparation(self.rules) if prepare is None else _passes(prepare),
            predict=predict,
            sweeps=sweeps,
            limit=max_candidates,
            **isolation(settings),
        )
        super().__init__(process, benchmarks, reward=reward, horizon=horizon, **shown(settings))
        width = len(feature_names(predict, sweeps))
        self._observation = ActionsObservation(max_candidates, width)
        self.observation_space = self._observation.space

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The rewrites and sweeps that are offered now, by action number."""
        return tuple(self._current.player.state.offered)

    def _observe(self, episode: Episode[RewriteState]) -> dict[str, Any]:
        table = self.process.table(episode.player)
        return self._observation.compose(table, episode.op_counts_by_opcode, episode.mask)

    def _extra_info(self, episode: Episode[RewriteState]) -> dict[str, Any]:
        return {"num_applicable": len(episode.player.state.found or ())}


def _passes(names: Sequence[str] | str) -> tuple[str, ...]:
    return tuple(passes[name].name for name in listed(names))


RuleChoice = Rule | str
"""A rule; or a name, a pattern such as ``"sort-*"``, ``"general"`` or ``"for-time"``."""


def chosen_rules(chosen: Sequence[RuleChoice] | str | None) -> tuple[Rule, ...]:
    """Returns the rules that a user names, each once and in the order in which they are named.

    Args:
        chosen: One name or pattern, or several of them or of rules. ``"general"`` and
            ``"for-time"`` stand for ``hlograph.rules.general`` and ``hlograph.rules.for_time``;
            None is ``"general"``.

    Raises:
        UnknownNameError: No rule has the name or matches the pattern.
    """
    if chosen is None:
        return rules.general
    names = listed(chosen)
    return tuple(dict.fromkeys(rule for name in names for rule in _named(name)))


def preparation(chosen: Iterable[Rule]) -> tuple[str, ...]:
    """Returns the names of the passes that rules need to run first.

    These are ``hlograph.transforms.sweeping.PREPARATION`` if a rule is for time, and none
    otherwise.
    """
    return PREPARATION if any(rule.for_time for rule in chosen) else ()


def _named(name: RuleChoice) -> Sequence[Rule]:
    if isinstance(name, Rule):
        return (name,)
    groups = {"general": rules.general, "for-time": rules.for_time}
    if name in groups:
        return groups[name]
    matching = [rule for rule in rules if fnmatchcase(rule.name, name)]
    if not matching:
        raise UnknownNameError.of("rule", name, (*groups, *rules.names))
    return matching
