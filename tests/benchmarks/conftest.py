from tests.hlograph.own_machine import own_lock, short_finals

__all__ = ["own_lock", "short_finals"]
