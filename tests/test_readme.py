"""The README's examples run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hlograph

ROOT = Path(__file__).parent.parent
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, tmp_path):
    smallest = min(hlograph.corpus.load(split="train"), key=lambda benchmark: benchmark.op_count)
    (tmp_path / "step.hlo").write_text(smallest.load().to_text())
    # The second example goes on with the name that the first imports.
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nimport hlograph\n{EXAMPLES[number]}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 3
