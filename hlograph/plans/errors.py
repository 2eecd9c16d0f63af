"""Errors of plans."""

from __future__ import annotations

from hlograph.errors import HloError


class PlanError(HloError):
    """Raised when a plan cannot be read, or cannot be carried out on a program."""


class PlanRefusedError(PlanError):
    """Raised when a plan was made for another program, jaxlib or machine."""
