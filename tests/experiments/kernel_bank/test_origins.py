"""Kernels to begin with."""

from itertools import pairwise

import pytest

from experiments.kernel_bank.origins import held_out_texts, origins, split_of, unconfigured
from hlograph import corpus
from hlograph.corpus import kernel_times

FUSION = "  ROOT %n2 = f32[8]{0} fusion(%n1), kind=kLoop, calls=%n0"


@pytest.fixture(scope="module")
def all_origins():
    return origins()


def test_no_kernel_is_of_a_held_out_program(all_origins):
    held_out = {b.family for b in corpus.load("speed", ["validation", "test"])}
    assert not {origin.family for origin in all_origins} & held_out
    assert not {unconfigured(origin.text) for origin in all_origins} & held_out_texts()
    assert {origin.split for origin in all_origins} == set(kernel_times.SPLITS)


def test_each_family_comes_first_once(all_origins):
    families = {origin.family for origin in all_origins}
    assert {origin.family for origin in all_origins[: len(families)]} == families
    digests = [origin.digest for origin in all_origins]
    assert len(set(digests)) == len(digests)
    assert any(a.family != b.family for a, b in pairwise(all_origins))


def test_what_plans_decide_about_a_kernel_makes_no_other_one(all_origins):
    configured = FUSION + ', backend_config={"outer_dimension_partitions":["2"]}'
    assert unconfigured(configured) == unconfigured(FUSION)
    called = '  ROOT %n2 = f32[8]{0} custom-call(%n1), backend_config={"k":2}'
    assert unconfigured(called) == called
    texts = [unconfigured(origin.text) for origin in all_origins]
    assert len(set(texts)) == len(texts)


def test_kernels_of_families_in_several_splits_are_for_training():
    by_split = {split_of([name]): name for name in map(str, range(40))}
    assert by_split.keys() == set(kernel_times.SPLITS)
    assert split_of([by_split["test"], by_split["train"]]) == "train"
    assert split_of([by_split["test"], by_split["validation"]]) == "train"
