"""Contains encoders, actor-critic heads and PPO, in plain torch and torch-geometric.

Nothing here knows gymnasium, an environment or a program that trains: states come in as
graph arrays or count vectors, transitions as tensors. The graph vocabulary of `hlograph`
is the only part of the project that this package imports.
"""

from hlograph.errors import MissingExtraError

MissingExtraError.check("learn", "torch")
