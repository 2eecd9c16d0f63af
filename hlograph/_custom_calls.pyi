from typing_extensions import CapsuleType


def handlers() -> dict[str, CapsuleType]:
    """
    Returns the handlers that can run here, by the targets of their custom calls.
    """
