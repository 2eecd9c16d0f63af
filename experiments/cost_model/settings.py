"""Settings of the programs of the cost model; imports no torch, so that --help is fast."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from experiments.evaluate.speed_programs import Split
from hlograph.corpus import plan_times
from hlograph.corpus.shipped import CorpusSet
from models.config import CostModelConfig

LearningSplit = Literal["train", "small"]
"""Splits that have no family of those that models are compared on."""


@dataclass(frozen=True)
class RecordConfig:
    """Records the times of many plans of many programs, and of the kernels of each.

    The plans of a program are those that random search and evolution over its knobs propose, or
    with --policy those of a policy of experiments.train tuning, on which predictions are most
    wrong, or with --alone those of single decisions. Each is compiled, timed beside jaxlib's
    default and profiled; its outputs are not compared. A run that was interrupted goes on with
    --out FOLDER, also with more plans.

    With --pack FOLDER the recordings become a data set that hlograph.corpus.plan_times loads, and
    with --extends it has those of an earlier data set, too. Programs of another set of the corpus,
    whose kernels are others, are recorded with --set.
    """

    programs: tuple[str, ...] = ("*",)
    """Names or globs of programs."""
    set: CorpusSet = "speed"
    """Set of the corpus. Of sets other than ``speed`` the split ``train`` is taken, without the
    families that are in other splits of ``speed``; it becomes the split ``small``."""
    split: Split | None = None
    """Split of the speed set; None takes all."""
    per_family: int | None = None
    """Programs of each family; None takes all."""
    plans: int = 100
    """Recordings of each program."""
    max_ms: float = 12.0
    """Programs whose run takes longer than this by default are left out, in milliseconds."""
    max_compile_seconds: float = 1.0
    """Programs whose compilation takes longer than this are left out."""
    seed: int = 0
    """Seed of the searches."""
    policy: str | None = None
    """Policy whose episodes propose the plans: a checkpoint, or the name of one that comes with the
    project. None takes searches."""
    alone: bool = False
    """Record plans that differ from another one by one decision instead, a rule or a value of a
    knob: from the default, from the program with the rules that rates predict to save time, and
    from what trees predict to be fastest."""
    workers: int = 2
    """Programs at a time; compilations run side by side, measurements alone."""
    pack: Path | None = None
    """Folder to write the recordings of all programs to at the end, as a data set."""
    extends: Path | None = None
    """With --pack: folder of an earlier data set of this machine, whose plans are kept."""
    out: Path | None = None
    """Folder of the recordings; None makes one under runs/."""


@dataclass(frozen=True)
class EffectsConfig:
    """Shows what single values of knobs bring, by the data set.

    The plans of the data set set several knobs each. So the logarithms of a program's ratios are
    explained by a ridge regression, with one coefficient for each value of a flag, and one for
    each stage and first word of the values of the other knobs, at whatever instructions. Written
    is what each value brings over all programs that have it.
    """

    splits: tuple[plan_times.Split, ...] = ("train", "validation")
    """Splits of the data set."""
    least_plans: int = 20
    """Programs with fewer plans are left out."""
    least_uses: int = 3
    """Values that fewer plans of a program have are left out there."""
    ridge: float = 1.0
    """Weight of the squared coefficients, in plans."""


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of the training."""

    epochs: int = 40
    """Passes over the programs."""
    programs: int = 4
    """Whole programs of a step."""
    alone: int = 64
    """Kernels alone of a step."""
    learning_rate: float = 2e-3
    """Largest learning rate, after a short rise and before a fall along a cosine."""
    weight_decay: float = 1e-2
    """Weight decay of AdamW."""
    temperature: float = 0.5
    """Logarithm of a ratio between plans that counts as much in the listwise loss."""
    listwise: float = 0.5
    """Weight of the listwise loss."""
    kernels: float = 1.0
    """Weight of the loss of the kernels' times."""
    cold: float = 0.3
    """Weight of the loss of times after the caches were filled with other data."""
    gains: float = 0.5
    """Weight of the loss of what decisions bring."""


@dataclass(frozen=True)
class TreesConfig:
    """Settings of gradient-boosted trees."""

    rounds: int = 400
    """Number of trees."""
    leaves: int = 63
    """Largest number of leaves of a tree."""
    learning_rate: float = 0.05
    """Share of what a tree learns that is added."""


@dataclass(frozen=True)
class TrainCostModelConfig:
    """Trains the cost model, and compares it with others on families that it has not seen.

    It learns from the train split of the data set of plan times, and is compared on validation and
    test. With --bank, trees are grown, too, and saved.
    """

    seeds: tuple[int, ...] = (0,)
    """Seeds; each trains a network. None trains none."""
    data: Path | None = None
    """Folder of the data set; None takes the one of the corpus."""
    learn_from: tuple[LearningSplit, ...] = ("train",)
    """Splits to learn from."""
    splits: tuple[plan_times.Split, ...] = ("validation", "test")
    """Splits to compare on."""
    bank: Path | None = None
    """Folder of a bank of kernels, of which the train split is learned from, too."""
    isa: str | None = None
    """Instruction set of the kernels of the bank, such as avx512; None takes that of most."""
    decided: Path | None = None
    """Folder of plans that differ by one decision (record --alone), whose train split is learned
    from, too. Trees learn from it what decisions bring within programs."""
    trees: TreesConfig = field(default_factory=TreesConfig)
    """Settings of gradient-boosted trees, which need --bank. They are saved as
    kernel_trees.weights; those that come with hlograph are in hlograph/profiling."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Settings of the training."""
    model: CostModelConfig = field(default_factory=CostModelConfig)
    """Shape of the model."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""
