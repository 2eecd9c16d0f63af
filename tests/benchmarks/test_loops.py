"""Tests the timed PPO loop."""

from dataclasses import replace

import pytest

from benchmarks.loops import Loop, Timed, config_of
from benchmarks.results import SECTIONS
from benchmarks.settings import PRESETS
from benchmarks.subjects import names_near

SETTINGS = replace(PRESETS["quick"], seed=3, threads=1)


def test_frames_a_second_count_collecting_and_learning():
    timed = Timed(640, collect=3.0, update=5.0, sections={})
    assert timed.seconds == 8.0
    assert timed.frames_per_second == 80.0


def test_the_settings_are_the_trainers():
    config = config_of(SETTINGS)
    assert (config.seed, config.threads, config.device) == (3, 1, "cpu")
    assert (config.gat.layers, config.gat.heads, config.gat.head_width) == (1, 4, 16)
    assert config.gat.opcode_counts


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_parts_of_an_iteration_are_all_of_it(workers):
    with Loop("op_counts", names_near(300, 2), workers, SETTINGS) as loop:
        timed = loop.iterate()
    config = config_of(SETTINGS)
    assert timed.frames == config.num_envs * config.horizon
    assert set(timed.sections) == set(SECTIONS)
    assert sum(timed.sections.values()) == pytest.approx(timed.seconds)
    assert 0 < timed.update < timed.seconds
