"""How much faster ``hlograph.optimize`` makes the programs of the corpus' speed set."""
