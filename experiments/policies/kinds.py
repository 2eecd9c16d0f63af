"""All kinds of policy, by name.

A kind is imported when it is asked for: a program that orders passes needs nothing of what tunes.
"""

from pkgutil import resolve_name

from experiments.policies.config import PolicyName, TrainConfig, config_class
from experiments.policies.kind import PolicyKind

KINDS: dict[PolicyName, str] = {
    "gnn": "experiments.policies.pass_ordering:GNNKind",
    "op_counts": "experiments.policies.pass_ordering:OpCountKind",
    "rewrites": "experiments.policies.rewriting:RewritingKind",
    "fusion": "experiments.policies.fusion:FusionKind",
    "tuning": "experiments.policies.tuning:TuningKind",
    "tuning_counts": "experiments.policies.tuning:TuningCountsKind",
}
"""Class of each kind, as module and name."""


def kind_class(name: PolicyName) -> type[PolicyKind]:
    """Returns the class of the kind of this name."""
    return resolve_name(KINDS[name])


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
    return kind_class(name)(config)
