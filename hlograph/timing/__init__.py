"""Times in turns: the loop, the load of the machine, a lock of it, and intervals of ratios."""
