"""Read-only facts about a module held by XLA: text, counts, fingerprints, cost, graph."""
