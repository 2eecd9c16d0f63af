"""Kernels within programs and alone."""

import pytest

from experiments.kernel_bank.context import InContext, context_table, in_context
from experiments.kernel_bank.origins import digest_of
from hlograph.corpus.kernel_times import KernelTimes, KernelVariant, MeasuredKernel
from hlograph.corpus.plan_times import PlanTimes, RunKernel
from tests.experiments.cost_model.data import KERNELS, plan, seconds_of


def measured(number, origin):
    seconds = seconds_of(number)
    default = KernelVariant(
        {}, {}, (seconds / 2,), (seconds * 2,), 0.1, (RunKernel(number, 1.0, None),)
    )
    return MeasuredKernel(origin, "a", {}, "m", "avx2", 0.0, (default,))


def test_kernels_that_are_the_same_alone_are_compared():
    same, other = digest_of(KERNELS[3]), digest_of("another")
    alone = KernelTimes(KERNELS, [measured(3, same), measured(3, other), measured(5, "")])
    programs = PlanTimes(KERNELS, [plan("p", [3, 4]), plan("p", [3], wide=True)])
    (found,) = in_context(alone, programs)
    assert found == pytest.approx((seconds_of(3), seconds_of(3) / 2, seconds_of(3) * 2, False))


def test_the_table_has_a_row_for_each_class_of_run_times_and_kind_of_threads():
    kernels = [InContext(2e-6, 1e-6, 4e-6, False), InContext(1e-3, 1e-3, 1e-3, True)]
    _, _, *rows = context_table(kernels).splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells[0] == ["below 2 µs", "one thread", "1", *["2.00"] * 3, *["0.50"] * 3]
    assert cells[1] == ["above 200 µs", "partitions", "1", *["1.00"] * 6]
