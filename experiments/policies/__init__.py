"""Kinds of policy: their settings, environments, states, networks and checkpoints."""

from hlograph.errors import MissingExtraError

MissingExtraError.check("learn", "gymnasium", "torch")
