"""Policies that point at one of several candidates in a graph."""

from collections.abc import Sequence

from experiments.policies.config import CandidateTrainConfig
from hlograph.decisions.rewrites import ROLES
from models.candidate_encoder import CandidateEncoder
from models.graph_view import GraphSchema
from models.pointer import PointerActorCritic


def pointer_policy(
    config: CandidateTrainConfig,
    slots: int,
    features: Sequence[str],
    context_width: int,
    kinds: int,
    roles: Sequence[str] = ROLES,
) -> PointerActorCritic:
    """Returns a policy that scores the candidates of a graph, and stopping.

    Args:
        config: Settings of the run.
        slots: Largest number of candidates in a state.
        features: Names of the columns that describe a candidate.
        context_width: Number of context values of a state.
        kinds: Number of kinds of candidates, such as rules.
        roles: Names of the roles of nodes in candidates.
    """
    encoder = CandidateEncoder(
        GraphSchema.of_hlograph(),
        config.gat,
        config.candidates,
        slots=slots,
        rules=kinds,
        features=len(features),
        roles=len(roles),
    )
    return PointerActorCritic(encoder, context_width, config.heads, config.candidates)
