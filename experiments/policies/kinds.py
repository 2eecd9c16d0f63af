"""All kinds of policy, by name."""

from collections.abc import Mapping

from experiments.policies.config import PolicyName, TrainConfig, config_class
from experiments.policies.fusion import FusionKind
from experiments.policies.kind import PolicyKind
from experiments.policies.pass_ordering import GNNKind, OpCountKind
from experiments.policies.rewriting import RewritingKind
from experiments.policies.tuning import TuningCountsKind, TuningKind

KINDS: Mapping[PolicyName, type[PolicyKind]] = {
    kind.name: kind
    for kind in (
        GNNKind,
        OpCountKind,
        RewritingKind,
        FusionKind,
        TuningKind,
        TuningCountsKind,
    )
}


def policy_kind(name: PolicyName, config: TrainConfig) -> PolicyKind:
    """Returns the kind of this name, with the settings of a run.

    Raises:
        TypeError: The settings are of another program.
        UnknownNameError: The settings name a rule that does not exist.
    """
    expected = config_class(name)
    if not isinstance(config, expected):
        raise TypeError(
            f"settings of {name} are in a {expected.__name__}, got {type(config).__name__}"
        )
    return KINDS[name](config)
