"""A file is either complete or unchanged."""

import pytest

from hlograph.storage.atomic_write import write_atomically, write_text_atomically


def test_writes_and_replaces_in_a_new_folder(tmp_path):
    path = tmp_path / "new" / "file.txt"
    write_text_atomically(path, "one")
    write_text_atomically(path, "two")
    assert path.read_text() == "two"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_failed_write_changes_nothing_and_leaves_nothing(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("before")

    def fail(target):
        target.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]
