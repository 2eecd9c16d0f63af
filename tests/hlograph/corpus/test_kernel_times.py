"""The data set of kernel times: files that are written are read."""

import subprocess
import sys
from dataclasses import replace

import pytest

from hlograph import HloError
from hlograph.corpus import kernel_times
from hlograph.corpus.json_lines import dump
from hlograph.corpus.kernel_times import KernelTimes, KernelVariant, MeasuredKernel, TimedOn
from hlograph.corpus.plan_times import RunKernel

DEFAULT = KernelVariant({}, {}, (3e-6, 1e-6, 2e-6), (9e-6,), 0.05, (RunKernel(0, 1.0, 2e-6),))
WIDE = KernelVariant(
    {"flags wide": "true"},
    {"wide": True},
    (1e-6, 1e-6, 1e-6),
    (8e-6,),
    0.06,
    (RunKernel(1, 1.0, None), RunKernel(0, 2.0, 1e-6)),
)
MEASURED = MeasuredKernel(
    "0123456789abcdef", "gpt2", {"sizes": {"8": 64}}, "machine", "avx2", 0.0, (DEFAULT, WIDE)
)


def test_what_is_written_is_read(tmp_path):
    (tmp_path / "kernels.jsonl.zst").write_bytes(dump(["while", "call"]))
    (tmp_path / "test.jsonl.zst").write_bytes(dump([MEASURED.to_json()]))
    times = kernel_times.load("test", folder=tmp_path)
    assert times.kernels == ["while", "call"]
    assert times.measured == [MEASURED]
    assert DEFAULT.seconds == 2e-6
    assert WIDE.cold_seconds == 8e-6
    with pytest.raises(HloError, match="no data set of kernel times"):
        kernel_times.load("train", folder=tmp_path)


def test_times_of_instruction_sets_are_told_apart():
    other = replace(MEASURED, isa="avx512")
    times = KernelTimes(["while", "call"], [MEASURED, other, other])
    elsewhere = replace(other, machine="elsewhere")
    times = KernelTimes(times.kernels, [*times.measured, elsewhere])
    assert times.usual() == ("machine", "avx512")
    assert times.timed_on(times.usual()).measured == [other, other]
    assert times.timed_on(times.usual("avx2")).measured == [MEASURED]
    with pytest.raises(HloError, match="instruction set sve, found avx2, avx512"):
        times.usual("sve")
    with pytest.raises(HloError, match="found none"):
        KernelTimes([], []).usual()
    with pytest.raises(HloError, match="found none"):
        times.timed_on(TimedOn("elsewhere", "avx2"))


def test_it_is_read_without_xla_and_torch(tmp_path):
    (tmp_path / "kernels.jsonl.zst").write_bytes(dump(["while"]))
    (tmp_path / "test.jsonl.zst").write_bytes(dump([MEASURED.to_json()]))
    code = (
        "import sys; from hlograph.corpus import kernel_times\n"
        f"print(len(kernel_times.load('test', folder={str(tmp_path)!r}).measured))\n"
        "print(sorted({'torch', 'jax', 'jaxlib', 'hlograph._xla'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "[]"]
