"""Errors of programs."""

from hlograph.errors import HloError


class ProgramError(HloError):
    """Raised when a program cannot be compiled for one CPU by jaxlib."""
