from tests.hlograph.own_machine import cache, own_lock

__all__ = ["cache", "own_lock"]
