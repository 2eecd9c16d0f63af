"""Equality saturation over HLO, as Tensat does it over tensor graphs (Yang et al. 2021).

``hlo_text`` takes a module's entry computation apart, ``terms`` writes it as terms, ``rules`` are
the equations of ``hlograph.rules`` that terms can carry, ``saturation`` has egglog apply them,
``extraction`` chooses the cheapest program of all that were found equal, ``optimizer`` is all of
it.
"""
