"""Kernels that a node of a Ray cluster records, with what it is."""

import pytest

from experiments.kernel_bank import collecting
from experiments.kernel_bank.__main__ import main
from experiments.kernel_bank.collecting import recordings
from experiments.kernel_bank.origins import Origin
from hlograph.storage.machine import machine
from tests.experiments.cost_model.data import kernel
from tests.experiments.workers.ray.two_nodes import one_node
from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]

ORIGINS = [Origin(kernel(opcode, 3000), "a", "train") for opcode in ("tanh", "negate", "sine")]


@pytest.fixture(scope="module")
def address(contained, own_lock):
    """A cluster of one node, which compiles for other instructions than this process."""
    with one_node(env_vars={"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}) as cluster:
        yield cluster.address


def test_each_recording_names_the_machine_that_timed_it(address, tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "origins", lambda seed: ORIGINS)
    monkeypatch.setattr(collecting, "held_out_texts", lambda: frozenset())
    arguments = ["record", "--out", str(tmp_path), "--draws", "1", "--decisions", "1"]
    assert main([*arguments, "--workers", "ray", "--ray-address", address]) == 0
    found = list(recordings(tmp_path))
    assert sorted(r["origin"] for r in found) == sorted(origin.digest for origin in ORIGINS)
    assert all(variant["warm"] for recording in found for variant in recording["variants"])
    assert {recording["isa"] for recording in found} == {"avx2"}
    (key,) = {recording["machine"] for recording in found}
    assert key != machine().key
