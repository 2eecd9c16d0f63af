"""Equality saturation over HLO, in the manner of Tensat (Yang et al. 2021).

``hlo_text`` parses a module's entry computation, ``terms`` writes it as terms, ``rules`` holds the
equations of ``hlograph.rules`` that terms can express, ``saturation`` applies them with egglog,
``extraction`` chooses the cheapest equal program, and ``optimizer`` does all of this to a module.
"""
