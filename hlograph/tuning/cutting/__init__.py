"""Programs cut at their heavy kernels and loops, which are tuned by themselves."""
