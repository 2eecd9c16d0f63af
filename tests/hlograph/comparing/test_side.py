"""Tests what runs in the other Python."""

import subprocess
import sys

import numpy as np

from hlograph.comparing.side import Interpreter
from hlograph.plans import Program
from tests.tiny_module import TINY

HIDDEN = "networkx tqdm tyro fsspec zstandard tensorflow torch gymnasium tensorboard"

# Fails where a package is imported that jax does not bring along.
IMPORTS = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HIDDEN.split()}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import hlograph.comparing.side
hlograph.comparing.side.JaxlibPrograms()
"""


def test_it_needs_jax_and_what_comes_with_it_alone() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-500:]


def test_a_fresh_process_has_no_programs_of_the_one_before() -> None:
    program, x = Program.of(TINY), np.array([0, 1, 2, 3], np.float32)
    with Interpreter("this") as side:
        final = side.compile("tiny", program, [x])
        assert final.text.startswith("HloModule tiny")
        (doubled,) = side.outputs("tiny")
        np.testing.assert_allclose(doubled, 4 * np.exp(x), rtol=1e-6)
        (moved,) = side.outputs("tiny", [x + 1])
        np.testing.assert_allclose(moved, 4 * np.exp(x + 1), rtol=1e-6)
        assert side.seconds("tiny", 3) > 0
        side.restart()
        side.compile("other", program, [x])
        np.testing.assert_array_equal(side.outputs("other")[0], doubled)
