"""Loader of the native extensions, which are loaded on first use.

The extension ``_xla`` links the XLA of the tensorflow-cpu wheel. Its libraries are loaded here by
absolute path, without importing the Python package ``tensorflow``; the dynamic loader then matches
the extension's dependencies by their SONAME. They are loaded with RTLD_LOCAL: with RTLD_GLOBAL a
later ``import torch`` or ``import jax`` would crash on clashing symbols.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hlograph.errors import EngineUnavailableError

if TYPE_CHECKING:
    from hlograph import _graphs, _xla

# In this order: libtensorflow_cc depends on libtensorflow_framework.
_LIBRARIES = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
_REBUILD = "pip install --no-build-isolation --force-reinstall --no-deps ."


@functools.cache
def native() -> _xla:  # pyright: ignore[reportGeneralTypeIssues]
    """Returns the extension module ``hlograph._xla``.

    Raises:
        EngineUnavailableError: tensorflow-cpu is missing or of another version
            than the extension was built against, or the extension was not built.
    """
    directory = _tensorflow_directory()
    # Silences XLA, which logs to stderr while it is loaded. HLOGRAPH_XLA_LOG=1 shows the log.
    if os.environ.get("HLOGRAPH_XLA_LOG", "0") == "0":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    try:
        for library in _LIBRARIES:
            ctypes.CDLL(str(directory / library))
        extension = importlib.import_module("hlograph._xla")
    except (ImportError, OSError) as error:
        raise EngineUnavailableError(
            f"the native extension hlograph._xla cannot be loaded: {error}. "
            f"Build it with: {_REBUILD}"
        ) from error
    _check_version(extension.TENSORFLOW_VERSION)
    return extension  # pyright: ignore[reportReturnType]


@functools.cache
def graphs() -> _graphs:  # pyright: ignore[reportGeneralTypeIssues]
    """Returns the extension module ``hlograph._graphs``, which needs no XLA.

    Raises:
        EngineUnavailableError: The extension was not built.
    """
    try:
        return importlib.import_module("hlograph._graphs")  # pyright: ignore[reportReturnType]
    except ImportError as error:
        raise EngineUnavailableError(
            f"the native extension hlograph._graphs cannot be loaded: {error}. "
            f"Build it with: {_REBUILD}"
        ) from error


def _tensorflow_directory() -> Path:
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None:
        raise EngineUnavailableError(
            "the package tensorflow-cpu is not installed. hlograph takes XLA's libraries from it "
            "(it never imports it): pip install tensorflow-cpu"
        )
    return Path(spec.origin).parent


def _check_version(built: str) -> None:
    try:
        installed = importlib.metadata.version("tensorflow-cpu")
    except importlib.metadata.PackageNotFoundError:
        installed = importlib.metadata.version("tensorflow")
    if installed != built:
        raise EngineUnavailableError(
            f"hlograph._xla was built against tensorflow-cpu {built}, but {installed} is "
            f"installed; XLA's C++ interface differs between versions. Rebuild with: {_REBUILD}, "
            f"or install the other: pip install tensorflow-cpu=={built}"
        )
