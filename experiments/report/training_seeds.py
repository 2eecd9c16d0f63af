"""Shows policies that differ in the seed of their training as one method."""

import re
from collections import Counter
from dataclasses import replace

from experiments.outcomes.study import Study

_SEED = re.compile(r" \(training seed \d+\)")


def together(study: Study) -> Study:
    """Returns a study with one method for the policies of all training seeds.

    Its trials are numbered anew, so that what is said of seeds is said of those of training and of
    the search. Names are those of ``experiments.paper.checkpoints.labelled``.

    Args:
        study: A study without measurements, which name trials by their seeds.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    trials = []
    for trial in study.trials:
        method = _SEED.sub("", trial.method)
        trials.append(replace(trial, method=method, seed=numbers[trial.group, method]))
        numbers[trial.group, method] += 1
    return replace(study, trials=trials)
