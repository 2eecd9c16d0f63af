"""Imported by the fork server, so that workers are forked from a process that is ready to work.

Work that is slow the first time is done here once: torch's imports on first use, and the code
that torch-geometric generates for a convolution. No thread is started: a fork would lose it.
"""

import torch

from experiments.policies.config import GNNTrainConfig
from experiments.policies.kind import policy_kind
from experiments.workers.startup import prepare_worker

torch.set_num_threads(1)
prepare_worker()
policy_kind("gnn", GNNTrainConfig()).new_policy()
