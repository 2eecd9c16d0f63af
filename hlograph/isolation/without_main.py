"""Worker processes that do not import the main module of the program."""

from __future__ import annotations

import types
from multiprocessing import popen_forkserver, spawn
from multiprocessing.context import ForkServerProcess
from typing import Any


class _Spawn:
    """Stands in for ``multiprocessing.spawn``, and does not name the main module."""

    @staticmethod
    def get_preparation_data(name: str) -> dict[str, Any]:
        data = spawn.get_preparation_data(name)
        return {key: value for key, value in data.items() if not key.startswith("init_main")}


class _Popen(popen_forkserver.Popen):
    # The method of the standard library with another `spawn`. The usual way, to hide the attributes
    # of `__main__` for a while, is seen by the other threads of the program.
    _launch = types.FunctionType(
        popen_forkserver.Popen._launch.__code__,  # pyright: ignore[reportAttributeAccessIssue]
        {**vars(popen_forkserver), "spawn": _Spawn},
    )


class ProcessWithoutMain(ForkServerProcess):
    """Process of the fork server that does not import the main module.

    A script needs no ``if __name__ == "__main__"`` around the code that starts it then.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802, the name of the standard library
        return _Popen(process_obj)
