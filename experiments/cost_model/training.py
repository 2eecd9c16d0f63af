"""Training of the cost model."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from tqdm import tqdm

from experiments.cost_model.examples import Kernels, ProgramExamples
from experiments.cost_model.settings import TrainingConfig
from models.cost_model import CostModel


def train(
    model: CostModel,
    kernels: Kernels,
    flags: Tensor,
    programs: Sequence[ProgramExamples],
    config: TrainingConfig,
    seed: int,
) -> None:
    """Trains a model.

    Args:
        model: The model.
        kernels: All kernels of the data set.
        flags: The table of flags.
        programs: The examples.
        config: Settings.
        seed: Seed of the order of the programs.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), config.learning_rate, weight_decay=config.weight_decay
    )
    steps = config.epochs * -(-len(programs) // config.programs)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, config.learning_rate, steps, pct_start=0.1
    )
    model.train()
    bar = tqdm(_groups(len(programs), config, generator), total=steps, unit="step", disable=None)
    for group in bar:
        loss = torch.stack(
            [_loss(model, kernels, flags, programs[number], config) for number in group]
        ).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        bar.set_postfix_str(f"loss {loss.item():.3f}", refresh=False)
    model.eval()


def _groups(number: int, config: TrainingConfig, generator: torch.Generator) -> Iterator[list[int]]:
    for _ in range(config.epochs):
        order = torch.randperm(number, generator=generator).tolist()
        for first in range(0, number, config.programs):
            yield order[first : first + config.programs]


def _loss(
    model: CostModel,
    kernels: Kernels,
    flags: Tensor,
    program: ProgramExamples,
    config: TrainingConfig,
) -> Tensor:
    predicted = model.of_batch(kernels.states, kernels.numbers, flags, program.batch)
    rows, timed = program.rows, program.rows.log_seconds.isfinite()
    errors = torch.nn.functional.smooth_l1_loss(
        predicted[timed], rows.log_seconds[timed], reduction="none"
    )
    # A kernel of no time should not be wrong by orders of magnitude either.
    weights = rows.weight[timed].sqrt() + 0.01
    of_kernels = (errors * weights).sum() / weights.sum()
    plans = model.plans(predicted, program.batch)
    return config.kernels * of_kernels + config.listwise * listwise(
        plans, program.log_seconds, config.temperature
    )


def listwise(predicted: Tensor, measured: Tensor, temperature: float) -> Tensor:
    """Returns the loss of a ranking: the divergence of softmax distributions over the plans.

    Fast plans are probable. This is the loss of ListNet (Cao et al. 2007, "Learning to rank: from
    pairwise approach to listwise approach") for the first place.

    Args:
        predicted: float32 ``[N]``, logarithm of seconds.
        measured: float32 ``[N]``, the same.
        temperature: Scale of both.
    """
    target = (-measured / temperature).softmax(0)
    log_target = (-measured / temperature).log_softmax(0)
    log_share = (-predicted / temperature).log_softmax(0)
    return (target * (log_target - log_share)).sum()
