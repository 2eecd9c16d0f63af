"""Results of policies and searches: benchmarks, references, checks, metrics, studies."""
