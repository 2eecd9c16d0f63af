"""What changes modules: the registry of passes, pipelines, and single rewrites."""
