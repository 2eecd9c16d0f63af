"""Datasheets of plan times and of decision times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_TEXT = """\
# {words.title}

Run times of compiled programs and of their kernels on XLA:CPU: how long each of {plans:,} ways to
compile {programs} programs takes, and each kernel in it.
{words.about}
The form of this datasheet is that of Gebru et al. 2021 ("Datasheets for datasets").

| split | programs | families | plans | times of kernels |
| --- | --- | --- | --- | --- |
{splits}

{kernels:,} distinct kernels; {bytes:.1f} MB.

```python
from hlograph.corpus import plan_times

times = plan_times.load({words.arguments})
plan = times.plans[0]
print(plan.program, plan.decisions, f"{{plan.ratio:.2f}} times as fast as the default")
for kernel in plan.kernels:
    print(times.kernels[kernel.number], kernel.calls, kernel.seconds)
```

## Composition

- `train.jsonl.zst`, `validation.jsonl.zst`, `test.jsonl.zst`: a line for each plan, with the
  fields of `hlograph.corpus.plan_times.PlanTime`. The splits are those of the set `speed` ([its
  datasheet](../README.md#the-set-of-programs-to-be-made-faster)), and have no family in common.
- `small.jsonl.zst`: the same of programs of the other sets of the corpus, which run for
  microseconds, with few plans of each. None is of a family of `validation` or `test`.
- `kernels.jsonl.zst`: the text of each distinct kernel, as a module of its own: its operands as
  parameters, and all that it calls. Names are numbers, so that equal kernels have equal texts.
  Values of large constants are left out. Loops and branches whose bodies have kernels of their
  own are their opcode alone.
- A plan is a compilation with other passes, rewrites, layouts, fusion, libraries, partitions or
  flags than jaxlib's default, the default itself included. `decisions` are values of knobs
  ([docs/plan-search.md](../../docs/plan-search.md#the-joint-search)); what they lead to is
  in the kernels and flags.
{words.chosen}
- Plans with the same final module and flags as an earlier one of the program were left out, and
  those that do not compile, or take more than four times as long as the default and a second.

## Collection

```sh
{commands}
```

`--pack` and `--extends` put what was recorded beside what was there. Made with the settings,
versions and on the machine of `made.json`. Each plan was compiled by jaxlib and run in turns with
the default in one process: {least} to {most} turns of 3 ms or more, whose ratios are all kept.
Then it was profiled: seconds of kernels are shares of a run by XLA's profiler, scaled to add up to
a run. Programs that take more than {most_ms:g} ms, or a second or two to compile, were left out.
Inputs were random.

## Limits

- One machine, one version of jaxlib. Compare plans by `ratios`, not by seconds: the machine was
  shared, and its speed drifted within hours. In the median, the two halves of a plan's turns
  differ by {noise:.1%}.
- Outputs were not compared: a plan may compute something else where a rewrite needs it not to
  matter.
- Seconds of kernels below a microsecond are rough, as are all where `accounted` is far from 1.
- The programs were built from their configurations, with random weights.

Licences are those of the programs, [listed with the corpus](../README.md#licences).
"""


class _Words(NamedTuple):
    """Sentences about one kind of data set, and how it is loaded."""

    title: str
    about: str
    arguments: str
    chosen: str


_SEARCHED = _Words(
    "Plan times",
    "For learned cost models, and to try search methods without a compiler at hand.",
    '"train"',
    """\
- Random search and evolution over the program's knobs proposed the plans in turns; so fast plans
  are more frequent than among random ones.""",
)
_DECIDED = _Words(
    "Decision times",
    """\
Each plan has one decision more than another one, where [plan times](../plan_times/README.md) have
many. For models of what a decision brings to a program.""",
    '"train", name=plan_times.DECISIONS',
    """\
- A plan has one decision more than the default, than the program with the rules that rates of
  work predict to save time, or than a plan that trees predicted to be fast, in turns: the
  [actions](../../docs/environments.md#tuning) of these states. Of the first two, rules for time
  and native kernels come first, then flags and what is about most of the predicted time; of the
  last one, what is predicted to bring most. Of programs that had been recorded before, more of the
  last kind were recorded alone.""",
)


class SplitCounts(NamedTuple):
    """Numbers of a split."""

    programs: int
    families: int
    plans: int
    kernel_times: int


class Facts(NamedTuple):
    """Numbers of a data set.

    Attributes:
        splits: Numbers of each split.
        kernels: Number of distinct kernels.
        bytes: Size of the files.
        turns: Number of turns of each plan.
        noise: Median relative difference of the medians of two halves of a plan's turns.
    """

    splits: Mapping[str, SplitCounts]
    kernels: int
    bytes: int
    turns: Sequence[int]
    noise: float


def datasheet(facts: Facts, made: Mapping[str, Any]) -> str:
    """Returns the datasheet as Markdown.

    Args:
        facts: Numbers of the data set.
        made: Where its recordings are from, and below "extends" those that it extends.
    """
    runs = list(_runs(made))
    rows = [
        f"| {name} | {split.programs} | {split.families} | {split.plans:,} | "
        f"{split.kernel_times:,} |"
        for name, split in facts.splits.items()
        if split.plans
    ]
    return _TEXT.format(
        plans=sum(split.plans for split in facts.splits.values()),
        programs=sum(split.programs for split in facts.splits.values()),
        splits="\n".join(rows),
        kernels=facts.kernels,
        bytes=facts.bytes / 1e6,
        words=_DECIDED if made["settings"].get("alone") == "True" else _SEARCHED,
        commands="\n".join(run["command"] for run in runs),
        most_ms=max(float(run["settings"]["max_ms"]) for run in runs),
        least=min(facts.turns),
        most=max(facts.turns),
        noise=facts.noise,
    )


def _runs(made: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields where recordings are from, from old to new."""
    if "extends" in made:
        yield from _runs(made["extends"])
    yield made
