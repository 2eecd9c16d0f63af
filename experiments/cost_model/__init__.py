"""Learned cost model of compiled programs: its data set, inputs, training and comparison."""

from hlograph.errors import MissingExtraError

MissingExtraError.check("learn", "torch")
