"""Replica groups of newer XLA in the words of an older one."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MESH = {"'a'": 2, "'b'": 4, "'c'": 3}


@pytest.fixture
def older_text(script: Callable[[str], ModuleType]) -> Callable[[str], str]:
    """The function under test."""
    return script("replica_groups").older_text


def listed(groups: np.ndarray) -> str:
    return "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in groups.tolist()) + "}"


def written(rest: str) -> str:
    axes = ",".join(f"{name}={size}" for name, size in MESH.items())
    return f"  r = f32[] all-reduce(x), replica_groups=mesh[{axes}]{rest}, to_apply=add\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(grouped=st.permutations(list(MESH)), count=st.integers(1, 3))
def test_groups_run_along_the_named_axes(
    older_text: Callable[[str], str], grouped: list[str], count: int
) -> None:
    """Devices of a group differ in the named axes only, the last of these fastest."""
    grouped = grouped[:count]
    names = list(MESH)
    devices = np.arange(24).reshape(tuple(MESH.values()))
    inside = [names.index(name) for name in grouped]
    outside = [index for index in range(3) if index not in inside]
    size = int(np.prod([devices.shape[index] for index in inside]))
    expected = devices.transpose(outside + inside).reshape(-1, size)
    text = older_text(written(f" {{{','.join(grouped)}}}"))
    assert f"replica_groups={listed(expected)}, to_apply" in text


def test_parts_of_axes_and_orders_of_devices(older_text: Callable[[str], str]) -> None:
    text = "replica_groups=mesh['a'=8] {'a':(2)2}"
    assert older_text(text) == "replica_groups={{0,2},{1,3},{4,6},{5,7}}"
    text = "replica_groups=mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'b'}"
    assert older_text(text) == "replica_groups={{3,2},{1,0}}"
    text = "replica_groups=mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}"
    assert older_text(text) == "replica_groups={{0,4},{1,5},{2,6},{3,7}}"


def test_what_is_known_stays_and_what_is_not_is_refused(older_text: Callable[[str], str]) -> None:
    for groups in ("{{0,1},{2,3}}", "[2,4]<=[4,2]T(1,0)"):
        text = f"  r = f32[] all-reduce(x), replica_groups={groups}, to_apply=add\n"
        assert older_text(text) == text
    with pytest.raises(ValueError, match="Unknown form of replica groups"):
        older_text("replica_groups=sphere[3]")


def test_where_things_were_traced_goes(older_text: Callable[[str], str]) -> None:
    text = (
        'HloModule m\n\nFileNames\n1 "a.py"\n\n'
        'e {\n  ROOT x = f32[] tanh(p), metadata={op_name="j{}" source_line=3}\n}\n'
    )
    assert older_text(text) == "HloModule m\n\ne {\n  ROOT x = f32[] tanh(p)\n}\n"
