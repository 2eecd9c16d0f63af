"""Plays policies on benchmarks, checks and measures what they make, and keeps it as a study."""
