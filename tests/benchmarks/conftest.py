from tests.hlograph.own_machine import own_lock, short_finals, single_workers

__all__ = ["own_lock", "short_finals", "single_workers"]
