"""Searchers over knobs that other libraries drive, for comparison with those of hlograph."""
