"""What a policy is given of an environment's state, and what a step was."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hlograph.graph.features import NODE_FEATURES
from hlograph.transforms.rewriting import rules
from models.candidate_graphs import GraphAndCandidates

_PRODUCER = [NODE_FEATURES.index(name) for name in ("log_bytes", "log_users")]
_CONSUMER = [NODE_FEATURES.index(name) for name in ("log_bytes", "log_operands")]

Observation = Literal["graph", "op_counts"]

STOP = "stop"
"""Name of the last action, where the others have names of passes."""


@dataclass(frozen=True)
class State:
    """One state of one environment, as a policy sees it."""

    key: str
    """Fingerprint of the module, or more: equal keys, equal items."""
    item: Any
    """What the encoder sees: the graph's arrays, with candidates or without, or op counts, float32
    [num_opcodes]."""
    context: np.ndarray
    """float32 [context_width(A)], or COST_WIDTH more where the info has costs: what the heads see
    beside the encoder's vector."""
    mask: np.ndarray
    """bool [A]: False for passes known to change nothing here."""


COST_WIDTH = 2
"""Number of context values that the value head alone sees: flops and transcendentals."""


REWRITE_CONTEXT = 2
"""Number of context values of a state of rewriting."""

FUSION_CONTEXT = 1
"""Number of context values of a state of fusion decisions."""

FUSION_FEATURES = ("rule", "log_bytes", "log_users", "consumer_log_bytes", "consumer_log_operands")
"""Columns of what a policy sees of a decision: the rule, and of producer and consumer what
``hlograph.graph.features`` says."""


def context_width(num_actions: int) -> int:
    """Number of context values beside an encoder's vector, without costs."""
    return num_actions + 1


def state_of(observation: Any, info: Mapping[str, Any]) -> State:
    """What a policy is given of an observation and the info beside it.

    The context makes the decision Markov. The mask holds what was tried at this module and
    did nothing. Rewards are shares of the op count at the start, so the size relative to
    that start sets what a removed instruction is worth. The time left is not in it: the
    value of a truncated episode is that of its state had it gone on (see
    `models.ppo.generalized_advantages`), which must not depend on the step number.

    Of an environment with costs the context ends with those relative to the start; a value
    head may see them, the policy head does not (see `models.actor_critic`).

    Args:
        observation: The graph observation (a mapping with "graph"), the same with "candidates", or
            op counts.
        info: Info of the step or reset that gave it.
    """
    mask = np.asarray(info["action_mask"], dtype=bool)
    if is_fusion(info):
        return _fusing(observation, info, mask)
    shrunk = np.log(info["op_count"] / info["start_op_count"])
    if isinstance(observation, Mapping) and "candidates" in observation:
        return _rewriting(observation, info, mask, shrunk)
    return State(
        key=info["fingerprint"],
        item=observation["graph"] if isinstance(observation, Mapping) else observation,
        context=np.concatenate([mask, [shrunk, *info.get("cost_changes", ())]]).astype(np.float32),
        mask=mask,
    )


def _rewriting(
    observation: Mapping[str, Any], info: Mapping[str, Any], mask: np.ndarray, shrunk: float
) -> State:
    """A state of rewriting; how much is left to rewrite is in its context.

    Modules of the same fingerprint may list their instructions, and so what is offered, in
    another order: there the key says more.
    """
    graph, links = observation["graph"], observation["candidate_links"]
    offered = observation["candidates"][: int(links[-1, 0]) + 1 if len(links) else 0]
    order = hashlib.blake2b(digest_size=8)
    for array in (graph.nodes, offered, links):
        order.update(array.tobytes())
    return State(
        key=f"{info['fingerprint']}-{order.hexdigest()}",
        item=GraphAndCandidates(graph, offered, links),
        context=np.array([shrunk, np.log1p(info["num_rewrites"]) / 7], np.float32),
        mask=mask,
    )


def _fusing(observation: Mapping[str, Any], info: Mapping[str, Any], mask: np.ndarray) -> State:
    """A state of fusion decisions: the pair in question is the one candidate.

    A policy that points at candidates fuses by taking it, and keeps the pair apart by its last
    action; environments have these two the other way round (``FusionActions``).
    """
    graph, decision = observation["module"]["graph"], info["decision"]
    features = np.zeros((0, len(FUSION_FEATURES)), np.float32)
    links = np.zeros((0, 3), np.int64)
    if decision is not None:
        consumer, producer = observation["decision"].tolist()
        numbers = [graph.nodes[producer, column] for column in _PRODUCER]
        numbers += [graph.nodes[consumer, column] for column in _CONSUMER]
        features = np.array([[rules[decision.rule].index, *numbers]], np.float32)
        links = np.array([[0, consumer, 0], [0, producer, 1]], np.int64)
    left = np.log(info["kernels"] / max(info["start_kernels"], 1) + 1e-3)
    return State(
        key=f"{info['fingerprint']}-{decision}",
        item=GraphAndCandidates(graph, features, links),
        context=np.array([left], np.float32),
        mask=mask[::-1].copy() if decision is not None else np.array([False, True]),
    )


def is_fusion(info: Mapping[str, Any]) -> bool:
    """Whether an info is of fusion decisions."""
    return "kernels" in info


def size(info: Mapping[str, Any]) -> int:
    """What is counted of a state: instructions, or of fusion decisions kernels, at least one."""
    return max(info["kernels"], 1) if is_fusion(info) else info["op_count"]


def step_name(info: Mapping[str, Any]) -> str | None:
    """What a step was: a pass, a rewrite, a fusion or ``STOP``; None after a reset."""
    if is_fusion(info):
        return (info["decided"] or STOP).removeprefix("apply ")
    return info["rewrite"] if "rewrite" in info else info["pass_name"]


def step_seconds(info: Mapping[str, Any]) -> float:
    """Seconds of a step in XLA; 0 where none are told."""
    if is_fusion(info):
        return 0.0
    return info["rewrite_time"] if "rewrite" in info else info["pass_time"]


def stacked(states: Sequence[State]) -> tuple[np.ndarray, np.ndarray]:
    """Contexts, float32 [N, C], and masks, bool [N, A], of states."""
    return np.stack([s.context for s in states]), np.stack([s.mask for s in states])
