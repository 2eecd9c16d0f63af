"""The same workers as actors of a Ray cluster.

Ray is an optional dependency whose import takes seconds, so nothing here imports it before a
cluster is asked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any

from hlograph.errors import HloError
from hlograph.isolation import Pool


def ray_pool(*arguments: Any) -> Pool:
    """Returns a ``RayPool``, which takes the arguments.

    Raises:
        HloError: Ray is not installed, or there is no such cluster.
    """
    with needing_ray():
        make = resolve_name("experiments.workers.ray.pool:RayPool")
    return make(*arguments)


@contextmanager
def needing_ray() -> Iterator[None]:
    """Says what to install if Ray is not there to be imported.

    Raises:
        HloError: It is not.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise HloError(
            "--workers ray needs Ray, which is not installed: pip install 'hlograph[ray]'"
        ) from error
