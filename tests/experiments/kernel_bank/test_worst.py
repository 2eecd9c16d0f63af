"""Kernels whose predictions are furthest off."""

from dataclasses import replace

import numpy as np

from experiments.kernel_bank.worst import kind_of_text, kinds_table, misses, misses_table
from hlograph.corpus.kernel_times import KernelTimes
from tests.experiments.cost_model.data import KERNELS
from tests.experiments.kernel_bank.data import bank


def test_the_worst_defaults_come_first_one_of_each_origin():
    times = bank(6, 0)
    times = KernelTimes(
        times.kernels, [replace(k, origin=str(n // 2)) for n, k in enumerate(times.measured)]
    )
    factors = [1.1, 4.0, 0.1, 1.0, 0.5, 2.5]
    predicted = [
        np.array([factor * variant.seconds for variant in kernel.variants])
        for factor, kernel in zip(factors, times.measured, strict=True)
    ]
    found = misses(times, predicted)
    assert [(miss.kernel.origin, round(miss.factor, 3)) for miss in found] == [
        *(("1", 0.1), ("0", 4.0), ("2", 2.5))
    ]
    rows = misses_table(times, found).splitlines()[2:]
    assert [row.split("|")[2].strip() for row in rows] == ["0.10", "4.00", "2.50"]


def test_errors_are_shown_by_kind():
    times = bank(12, 0)
    twice = [np.array([2 * v.seconds for v in kernel.variants]) for kernel in times.measured]
    rows = kinds_table(times, {"model": twice}).splitlines()[2:]
    assert sum(int(row.split("|")[2]) for row in rows) == 12
    assert {row.split("|")[3].strip() for row in rows} == {"2.00 / 2.00"}
    kinds = {kind_of_text(KERNELS[k.variants[0].kernels[0].number]) for k in times.measured}
    assert {row.split("|")[1].strip() for row in rows} == kinds


def test_a_loop_of_other_kernels_has_a_kind():
    assert kind_of_text("while") == "loop overhead"
