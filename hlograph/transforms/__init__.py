"""Transformations of modules: the registry of passes, pipelines, and single rewrites."""
