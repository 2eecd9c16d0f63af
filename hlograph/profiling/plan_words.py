"""Words for the decisions about a compilation, each of which is a column of a cost model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hlograph.plans.knobs import stage_of


def flag_words(flags: Mapping[str, object]) -> list[str]:
    """Returns a word for each flag with its value."""
    return [f"{name}={json.dumps(value)}" for name, value in flags.items()]


def decision_words(decisions: Mapping[str, str]) -> list[str]:
    """Returns words for decisions: a flag with its value, rules, or a stage with its value."""
    words: list[str] = []
    for name, value in decisions.items():
        stage = stage_of(name)
        if stage == "flags":
            words.append(f"{name}={value}")
        elif stage == "steps":
            words += [rule_word(step.partition("(")[0]) for step in json.loads(value)]
        else:
            words += [f"{stage} {value}", f"{stage} {value.partition(' ')[0]}"]
    return words


def rule_word(name: str) -> str:
    """Returns the word for a rule, or for another step of that name."""
    return f"steps {name}"


def word_table(rows: Iterable[Sequence[str]], columns: Sequence[str]) -> NDArray[np.float32]:
    """Returns sets of words as rows of ones and zeros, float32 ``[len(rows), len(columns)]``.

    Args:
        rows: The sets; words without a column are left out.
        columns: The words of the columns.
    """
    ones = [[word in row for word in columns] for row in rows]
    return np.array(ones, np.float32).reshape(-1, len(columns))
