"""Compares one program under two jaxlibs, each in its own Python."""
