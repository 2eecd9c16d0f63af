"""A bank of kernels: cut out of programs, changed, compiled with local decisions, and timed."""
