"""Reads modules from whatever holds them, without ever ending the process."""
