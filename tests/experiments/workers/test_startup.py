"""Event files are written without TensorFlow, and torch is set up to repeat itself."""

import subprocess
import sys
from pathlib import Path

_CODE = """
import sys
from experiments.workers.startup import keep_freed_memory, prepare_process
prepare_process(device="cpu")
import torch
assert "torch._dynamo" not in sys.modules
from torch.utils.tensorboard.writer import SummaryWriter
with SummaryWriter(sys.argv[1]) as writer:
    writer.add_scalar("x", 1.0, 0)
assert "tensorflow" not in sys.modules
assert torch.are_deterministic_algorithms_enabled()
assert torch.get_num_threads() == 1
print(keep_freed_memory())
"""


def test_prepared_process(tmp_path):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", _CODE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("True", "False")
    if sys.platform == "linux":
        assert done.stdout.strip() == "True"
    assert list(tmp_path.glob("events.out.tfevents.*"))
