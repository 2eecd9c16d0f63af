"""Shows policies that differ in the seed of their training as one method."""

from collections import Counter
from dataclasses import replace

from experiments.outcomes.study import Study
from experiments.paper.checkpoints import without_training_seed


def together(study: Study) -> Study:
    """Returns a study with one method for the policies of all training seeds.

    Its trials are numbered anew, so that what is said of seeds is said of those of training and of
    the search.

    Args:
        study: A study without measurements, which name trials by their seeds.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    trials = []
    for trial in study.trials:
        method = without_training_seed(trial.method)
        trials.append(replace(trial, method=method, seed=numbers[trial.group, method]))
        numbers[trial.group, method] += 1
    return replace(study, trials=trials)
