"""Folder in which the commands and examples of the documentation find what they name."""

from pathlib import Path

import pytest

from hlograph import corpus


@pytest.fixture
def reader_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enters a folder with a module, ``step.hlo``, and a dump of two."""
    smallest = sorted(corpus.load(split="train"), key=lambda benchmark: benchmark.op_count)[:2]
    texts = [benchmark.load().to_text() for benchmark in smallest]
    (tmp_path / "step.hlo").write_text(texts[0])
    (tmp_path / "dump").mkdir()
    for name, text in zip(("loss", "step"), texts, strict=True):
        (tmp_path / "dump" / f"{name}.hlo").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path
