"""Settings of the programs of the bank of kernels."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from experiments.cost_model.settings import TrainingConfig, TreesConfig
from hlograph.corpus import kernel_times
from hlograph.corpus.kernel_times import KernelTimes, Split, TimedOn
from models.config import CostModelConfig


@dataclass(frozen=True)
class RecordKernelsConfig:
    """Records kernels for some time, and goes on with --out FOLDER where an earlier run ended.

    Kernels come from the training programs of the data set of plan times, those of each family in
    turns. Each is recorded as it is, and then in draws with other sizes, types and layouts. Each is
    compiled by default and with some of the decisions that apply to it, and all of these are timed
    in turns. A kernel is written as soon as it is recorded, so that a run may be killed. With
    --workers ray, all nodes of a cluster record, each with the name of its machine.
    """

    out: Path
    """Folder of the recordings."""
    minutes: float = 60.0
    """Minutes after which no kernel is begun."""
    kernels: int | None = None
    """Number of kernels after which none is begun; None for no limit."""
    draws: int = 12
    """Draws of each kernel, three times as many of those with rare opcodes. The first is the kernel
    as it is."""
    decisions: int = 5
    """Decisions of each kernel beside the default."""
    seed: int = 0
    """Seed of the order of the kernels and of the draws."""
    chosen: Path | None = None
    """File of the kernels to draw from, as ``choose`` writes it; None takes all."""
    workers: Literal["processes", "ray"] = "processes"
    """Kind of workers: processes of this machine, or actors of a Ray cluster. Compilations run side
    by side, measurements of a machine alone."""
    num_workers: int | None = None
    """Number of workers; None is one a core, with Ray one for each CPU of the cluster."""
    ray_address: str | None = None
    """Ray cluster to join: host:port, or auto for this machine's; None starts one of its own."""


@dataclass(frozen=True)
class PackConfig:
    """Makes the data set of hlograph.corpus.kernel_times from recordings.

    The recordings may be of several machines, which a column tells apart.
    """

    folders: tuple[Path, ...]
    """Folders of recordings."""
    out: Path
    """Folder of the data set."""


@dataclass(frozen=True, kw_only=True)
class BankConfig:
    """Says which kernels of which data set are read."""

    data: Path | None = None
    """Folder of the data set; None takes the one of the corpus."""
    isa: str | None = None
    """Instruction set of the kernels, such as avx512; None takes that of most. Kernels are of the
    machine that most were timed on, because times of several do not mix."""

    def times(self, *splits: Split) -> KernelTimes:
        """Returns the kernels of splits, none takes all, of one machine and instruction set.

        Raises:
            HloError: There is no data set, or it has no kernels of the instruction set.
        """
        return kernel_times.load(*splits, folder=self.data).timed_on(self._timed_on)

    @cached_property
    def _timed_on(self) -> TimedOn:
        # The same for all splits.
        return kernel_times.load("train", folder=self.data).usual(self.isa)


@dataclass(frozen=True, kw_only=True)
class CompareConfig(BankConfig):
    """Compares models on kernels of held-out families: baselines, trees, and networks.

    The order of the variants of a kernel is compared by Kendall's tau, and by how much slower than
    the fastest the best of the first 1, 5 and 10 is. The error of predicted seconds is shown by
    percentiles. Trees and networks learn from the train split first.
    """

    splits: tuple[Split, ...] = ("validation",)
    """Splits to compare on."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the networks; none compares baselines and trees alone."""
    ablations: bool = False
    """True also compares networks that lack the graph's edges, its nodes' features, or kernels of
    other sizes to learn from, and trees that lack these."""
    page: Path | None = None
    """File to write as a page about the models, with the kernels that are predicted worst and, in
    its folder, a picture of them."""
    trees: TreesConfig = field(default_factory=TreesConfig)
    """Settings of gradient-boosted trees."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Settings of the training of networks."""
    model: CostModelConfig = field(default_factory=CostModelConfig)
    """Shape of the networks."""


@dataclass(frozen=True, kw_only=True)
class ChooseConfig(BankConfig):
    """Chooses the kernels to measure next, for ``record --chosen``.

    Gradient-boosted trees of several seeds learn from the train split. Kernels are worth the more,
    the more the trees disagree about them, and the more wrong they are on the validation split
    about kernels with the same opcodes.
    """

    out: Path
    """File to write, with a line for each kernel."""
    kernels: int = 1000
    """Number of kernels."""
    within: Path | None = None
    """Folder of a data set of plan times: takes the kernels that its programs have, so that times
    alone can be compared with those within programs. None lets the trees choose."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the trees, two or more."""
    trees: TreesConfig = field(default_factory=TreesConfig)
    """Settings of the trees."""


@dataclass(frozen=True, kw_only=True)
class CurveConfig(BankConfig):
    """Shows how much more is learned from kernels that were chosen than from random ones.

    The kernels are those of the train split, as if they were measured in rounds, each with as many
    as there were before. Errors on the validation split help to choose, and other splits show what
    it brought.
    """

    splits: tuple[Split, ...] = ("test",)
    """Splits to compare on."""
    seeds: tuple[int, ...] = (0, 1)
    """Seeds of the trees, two or more."""
    trees: TreesConfig = field(default_factory=TreesConfig)
    """Settings of the trees."""


@dataclass(frozen=True, kw_only=True)
class ContextConfig(BankConfig):
    """Shows how much longer kernels take within their programs than alone.

    Those count whose text is the same. Plans of programs that were timed on the machine of the bank
    come from experiments.cost_model record --plans 1 --pack FOLDER.
    """

    programs: Path
    """Folder of a data set of plan times."""
