"""Learned cost model of compiled programs: its data set, inputs, training and comparison."""
