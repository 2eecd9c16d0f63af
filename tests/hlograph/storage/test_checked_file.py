"""Damage of any kind is detected and named."""

import json

import pytest

from hlograph.errors import DamagedFileError
from hlograph.storage.checked_file import (
    read_checked,
    read_checked_json,
    write_checked,
    write_checked_json,
)

DATA = bytes(range(256)) * 3


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    write_checked(path, "checkpoint", 2, DATA)
    return path


def test_round_trip(file):
    assert read_checked(file, "checkpoint", 2) == DATA
    write_checked(file, "checkpoint", 2, b"")
    assert read_checked(file, "checkpoint", 2) == b""


@pytest.mark.parametrize("length", [0, 1, 30, 90, 100, 500])
def test_every_truncation_is_noticed(file, length):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(DamagedFileError):
        read_checked(file, "checkpoint", 2)


@pytest.mark.parametrize("place", [0, 9, 20, 40, 95, 200, -1])
def test_every_altered_byte_is_noticed(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(DamagedFileError):
        read_checked(file, "checkpoint", 2)


def test_other_kinds_and_versions_are_named(file):
    with pytest.raises(DamagedFileError, match=r"expected a graph, and .* is a b'checkpoint'"):
        read_checked(file, "graph", 2)
    with pytest.raises(DamagedFileError, match=r"version b'2'.*reads version 1"):
        read_checked(file, "checkpoint", 1)


def test_json(tmp_path):
    path = tmp_path / "x.json"
    content = {"b": [1, 2.5, None], "a": {"ü": "text"}}
    write_checked_json(path, "results", 1, content)
    assert read_checked_json(path, "results", 1) == content
    assert json.loads(path.read_text())["a"] == content["a"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-5],
        lambda text: text.replace("2.5", "2.6"),
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"version": 1', '"version": 7'),
        lambda text: text.replace("hlograph results", "other"),
    ],
)
def test_damaged_json_is_noticed(tmp_path, damage):
    path = tmp_path / "x.json"
    write_checked_json(path, "results", 1, {"a": 2.5})
    path.write_text(damage(path.read_text()))
    with pytest.raises(DamagedFileError):
        read_checked_json(path, "results", 1)
