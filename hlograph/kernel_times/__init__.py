"""Predicted run times: amounts of work, from the native extension, times rates of a machine.

    >>> module = hlograph.Module.load("step.hlo")
    >>> module.seconds()
    0.000213
    >>> min(module.rewrites(), key=lambda rewrite: rewrite.seconds)

A prediction takes microseconds. It is rough: it is there to order rewrites and programs before the
best of them are measured. ``hlograph calibrate`` measures the rates of this machine.
"""

from hlograph.kernel_times.fitting import fit_rates
from hlograph.kernel_times.rates import Rates, current_rates, default_rates, features, store_rates

__all__ = ["Rates", "current_rates", "default_rates", "features", "fit_rates", "store_rates"]
