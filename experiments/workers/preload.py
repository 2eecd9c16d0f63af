"""Imported by the fork server, so that workers are forked from a process that is ready to work.

What is slow the first time is done here once: torch's imports on first use, the code that
torch-geometric generates for a convolution. No thread is started, for a fork would lose it.
"""

import torch

from experiments.policies.config import GNN_PRESETS
from experiments.policies.learner import learner_of, new_policy
from experiments.workers.startup import prepare_worker

torch.set_num_threads(1)
prepare_worker()
new_policy(learner_of("gnn", GNN_PRESETS["quick"]), GNN_PRESETS["quick"])
