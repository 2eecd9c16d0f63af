"""Kernels to begin with."""

from collections import Counter
from itertools import pairwise

import pytest

from experiments.kernel_bank.origins import (
    Origin,
    held_out_texts,
    origins,
    split_of,
    unconfigured,
    with_rare_opcodes,
)
from hlograph import corpus
from hlograph.corpus import kernel_times
from hlograph.profiling.kernel_modules import is_kernel_text

FUSION = "  ROOT %n2 = f32[8]{0} fusion(%n1), kind=kLoop, calls=%n0"


@pytest.fixture(scope="module")
def all_origins():
    return origins()


def test_no_kernel_is_of_a_held_out_program(all_origins):
    held_out = {b.family for b in corpus.load("speed", ["validation", "test"])}
    assert not {origin.family for origin in all_origins} & held_out
    assert not {unconfigured(origin.text) for origin in all_origins} & held_out_texts()
    assert {origin.split for origin in all_origins} == set(kernel_times.SPLITS)
    # The opcode of a loop with steps inside is the text of every such loop.
    assert all(map(is_kernel_text, held_out_texts()))


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


def test_kernels_of_families_in_several_splits_are_held_out():
    assert split_of(["kalman"]) == "train"
    assert split_of(["kalman", "lstm"]) == "validation"
    assert split_of(["kalman", "lstm", "wavenet"]) == "test"


def test_most_kernels_are_for_training(all_origins):
    counts = Counter(origin.split for origin in all_origins)
    shares = {split: counts[split] / len(all_origins) for split in kernel_times.SPLITS}
    assert shares["train"] > 0.75
    assert min(shares.values()) > 0.08
    splits = {(origin.family, origin.split) for origin in all_origins}
    assert len(splits) == len({family for family, _ in splits})


def test_few_kernels_have_rare_opcodes():
    usual = [Origin(f"%n{n} = f32[] add(%a, %b)", "a", "train") for n in range(200)]
    rare = Origin("%n1 = f32[] popcnt(%a)", "a", "train")
    assert with_rare_opcodes([*usual, rare]) == {rare}
