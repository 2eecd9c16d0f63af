"""Collection of the times of plans, and of their kernels, as a data set."""
