"""Equality saturation over HLO, in the manner of Tensat (Yang et al. 2021).

``program`` parses a module's entry computation, ``terms`` writes it as terms, ``rules`` holds the
equations of ``hlograph.rules`` that terms can express, ``forms`` adds what other rules make of the
program, ``saturation`` applies the equations with egglog, ``prices`` estimates each instruction,
``extraction`` chooses the cheapest equal program, and ``optimizer`` does all of this to a module.
"""
