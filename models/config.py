"""Defines the hyper-parameters of the encoders, the heads and PPO.

They stand apart from the modules that use them, and import no torch, because every
program builds its command line from them and `--help` has to answer in a second.
"""

from dataclasses import dataclass
from typing import Literal

LOG_COUNT_SCALE = 1.0 / 7.0
"""Factor that brings logarithms of counts up to a few thousand to order one."""


Condition = Literal["within", "alone", "cold"]
"""Conditions of a kernel's run: within its program; alone, with operands in the caches; or alone
after the caches were filled with other data."""


@dataclass(frozen=True)
class GATConfig:
    """Shape of the graph encoder, and the parts of a graph that it sees.

    The defaults are the project's encoder. Each other setting removes or replaces one part of it,
    for ablations.
    """

    layers: int = 3
    """Number of layers: the radius, in edges, of what a node can see. 0 is an MLP over each node's
    own features, pooled."""
    layer: Literal["gatv2", "gat", "sage", "gin"] = "gatv2"
    """Aggregation over neighbours: attention that depends on both ends, attention that
    ranks neighbours alike for every node, a mean, or a sum."""
    heads: int = 4
    """Attention heads of each layer."""
    head_width: int = 16
    """Channels of one head; a node is heads * head_width wide."""
    edge_width: int = 16
    """Width of the embeddings of edge types and operand positions."""
    counted_kinds: int = 32
    """Learned kinds of node whose number in the graph the pooling counts."""
    opcode_counts: bool = False
    """True if a graph's vector also has the number of its nodes of each opcode, on a log scale."""
    edges: bool = True
    """True if layers aggregate over neighbours; otherwise each sees the node's own vector alone."""
    reverse_edges: bool = True
    """True if operands also see their users, and computations their callers."""
    operand_positions: bool = True
    """True if edges carry the position of the operand."""
    attributes: bool = True
    """True if nodes have more features than type and opcode: element type, dimensions, others."""
    neighbour_features: bool = True
    """True if nodes have features computed from other nodes: how many operands and users,
    whether cse would find another alike (`models.graph_view.NEIGHBOUR_FEATURES`)."""

    def __post_init__(self) -> None:
        """Checks that a network can be built."""
        if self.layers < 0:
            raise ValueError(f"an encoder has 0 or more layers, got {self.layers}")

    @property
    def width(self) -> int:
        """Width of a node's vector."""
        return self.heads * self.head_width


@dataclass(frozen=True)
class CostModelConfig:
    """Shape of the learned cost model of kernels and plans."""

    gat: GATConfig = GATConfig(layers=1, counted_kinds=16)
    """Encoder of a kernel's graph."""
    hidden: int = 64
    """Width of the layers after the encoder."""
    dropout: float = 0.3
    """Share of hidden values that are left out in training."""
    conditions: tuple[Condition, ...] = ("within", "alone", "cold")
    """Conditions under which the seconds of a kernel are predicted, from one encoding."""


@dataclass(frozen=True)
class ActionConfig:
    """Shape of the encoder and the scores of actions that are offered with features."""

    width: int = 32
    """Width of an action's vector."""
    score_width: int = 64
    """Width of the hidden layer that combines state and action into a score."""


@dataclass(frozen=True)
class OpCountConfig:
    """Shape of the encoder that sees op counts only."""

    layers: int = 2
    """Number of fully connected layers."""
    width: int = 128
    """Width of each layer and of the result."""


@dataclass(frozen=True)
class HeadsConfig:
    """Shape of the policy and value heads."""

    width: int = 128
    """Width of the one hidden layer of each head."""


@dataclass(frozen=True)
class PPOConfig:
    """Hyper-parameters of the PPO update; `models.ppo` names the source of each."""

    learning_rate: float = 1e-3
    """Step size of Adam at the start of training."""
    final_learning_rate: float = 0.1
    """Step size at the end of training, as a share of the first; linear in between."""
    gamma: float = 0.9
    """Discount of future reward; low, because the worth of a pass shows within a few steps."""
    gae_lambda: float = 0.95
    """Decay of the advantage estimate: 0 trusts the value head, 1 the observed return."""
    reward_scale: float = 0.1
    """Factor on every reward before learning, so that returns are of order one."""
    epochs: int = 2
    """Passes over one rollout."""
    minibatches: int = 4
    """Optimizer steps in one pass over the rollout."""
    minibatch_parts: int = 2
    """Parts of a minibatch that may run at the same time; results depend on it."""
    whole_episodes: bool = False
    """True if minibatches are drawn by environment instead of by state. States of an episode share
    most of what there is to encode; with few environments, minibatches are all too different."""
    clip: float = 0.2
    """Largest deviation of the probability ratio from 1 that is rewarded."""
    value_clip: float | None = None
    """Largest change of a value estimate in one update; None does not limit it."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    entropy_weight: float = 0.01
    """Weight of the entropy bonus at the start of training."""
    final_entropy: float = 1.0
    """Weight of the bonus at the end of training, as a share of the first; linear in between."""
    averaging: float = 0.0
    """Decay, from iteration to iteration, of the average of the policy's parameters. The average is
    evaluated and kept; the policy itself collects. 0 keeps no average."""
    target_kl: float | None = 0.03
    """Divergence that stops an update when it is exceeded by the factor 1.5; None never stops."""
    max_grad_norm: float = 0.5
    """Largest global norm of a gradient; a larger one is scaled down to it."""
    adam_epsilon: float = 1e-5
    """Epsilon of Adam."""
    node_budget: int = 65_536
    """Largest number of distinct nodes encoded at once; a larger graph is encoded alone."""

    def __post_init__(self) -> None:
        """Raises ValueError if nothing would enter the average."""
        if not 0.0 <= self.averaging < 1.0:
            raise ValueError(f"expected an averaging of 0 to below 1, got {self.averaging:g}")


@dataclass(frozen=True)
class CloningConfig:
    """Hyper-parameters of behavioural cloning; see `models.cloning`."""

    epochs: int = 15
    """Passes over the demonstrations; 0 skips cloning."""
    op_limit: int | None = None
    """Training benchmarks of the corpus with more instructions are left out of the demonstrations;
    None is the limit of training. Larger ones show passes that few programs need."""
    corrections: int = 1
    """Times that the policy then plays the training benchmarks, is shown what it should have done
    in each state, and imitates all of that."""
    correction_epochs: int = 5
    """Passes over the demonstrations and all corrections each time."""
    minibatch: int = 256
    """Transitions of an optimizer step."""
    learning_rate: float = 2e-3
    """Step size of Adam at the start; it falls linearly to 0."""
    value_weight: float = 0.25
    """Weight of the value loss."""
    smoothing: float = 0.05
    """Share of the target's probability that is spread over all actions, so that PPO can
    still explore."""


@dataclass(frozen=True)
class EffectHeadConfig:
    """Hyper-parameters of the predictions which passes make a difference; see `models.effects`."""

    episodes: int = 2
    """Episodes on each module that they are learned from, after the policy was trained; the first
    takes the likeliest passes, and none stops. 0 learns no predictions, and every pass that the
    policy chooses is called."""
    op_limit: int = 3_000
    """Training benchmarks with more instructions are left out of these episodes."""
    epochs: int = 12
    """Passes over what was observed."""
    minibatch: int = 512
    """Calls of an optimizer step."""
    learning_rate: float = 2e-3
    """Step size of AdamW at the start; it falls linearly to 0."""
    dropout: float = 0.2
    """Share of inputs and hidden values that are dropped in each step."""
    weight_decay: float = 0.1
    """Weight decay of AdamW."""

    def __post_init__(self) -> None:
        """Raises ValueError if all would be dropped."""
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"--effects.dropout: expected 0 to below 1, got {self.dropout:g}")
