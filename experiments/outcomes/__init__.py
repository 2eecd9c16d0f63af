"""What policies and searches came to: benchmarks, references, checks, metrics, studies."""
