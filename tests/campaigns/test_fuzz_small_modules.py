"""Every pass on small modules of many kinds of operations, with all checks of the campaign."""

import random
from functools import cache

import pytest

from hlograph import Module, passes
from hlograph.isolation import FlightRecorder
from tests.campaigns.framework.module_sets import SMALL
from tests.campaigns.passes.checks import CheckedModule
from tests.campaigns.passes.records import Tally
from tests.hlograph import samples

TEXTS = {**samples.ALL, **dict(SMALL)}
# Its pad does not have the shape that the verifier computes.
TEXTS.pop("INDEXING")


@cache
def start(name: str) -> Module:
    """Returns a module, of which another process parses what is unusual."""
    module = Module.from_text(TEXTS[name])
    module.verify()
    return module


def checked(name: str) -> CheckedModule:
    return CheckedModule(name, start(name).clone(), FlightRecorder(), random.Random(name), Tally())


@pytest.mark.parametrize("name", TEXTS)
def test_each_pass_alone(name):
    for entry in passes:
        module = checked(name)
        if module.run(entry.name):
            module.check_replay()


@pytest.mark.parametrize("name", TEXTS)
def test_all_passes_one_after_the_other(name):
    module = checked(name)
    names = random.Random(name).sample(passes.names, len(passes))
    for name_of_pass in names[:60]:
        module.run(name_of_pass)
        if module.op_count > 5_000:
            break
    module.check_fork(names[60:70])
    module.check_replay()
    module.check_round_trips()


def test_every_pass_that_the_corpus_leaves_idle_has_something_to_do():
    for name in [
        "simplify-sorts",
        "broadcast_canonicalizer",
        "conditional-to-select",
        "qr_expander",
        "eigh_expander",
        "dynamic-index-splitter",
        "stochastic_convert_decomposer",
        "result_caster",
    ]:
        assert checked("small/RARELY_CHANGED").run(name), name
