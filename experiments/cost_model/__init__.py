"""Learned cost model of compiled programs: its inputs, training and comparison."""
