"""Times of executables of jaxlib: runs in turns, a lock of the machine, and intervals of ratios."""
