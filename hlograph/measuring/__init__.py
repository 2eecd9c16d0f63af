"""Measurement of programs in jaxlib: their results compared with the default's, their times.

Everything runs in worker processes (``hlograph.measuring.service``), which may die in a
compilation. Compilations run side by side, measurements alone (``hlograph.execution.lock``).
"""
