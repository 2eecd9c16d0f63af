"""Kinds of policy: their settings, environments, states, networks and checkpoints."""
