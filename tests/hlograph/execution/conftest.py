from tests.hlograph.own_machine import cache

__all__ = ["cache"]
