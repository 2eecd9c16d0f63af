"""The same workers as actors of a Ray cluster."""
