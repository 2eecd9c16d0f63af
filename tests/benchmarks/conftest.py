from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]
