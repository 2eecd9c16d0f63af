"""Loader of the native extensions, which are loaded on first use.

The extension ``_xla`` links the XLA of the tensorflow-cpu wheel. Its libraries are loaded here by
absolute path, without importing the Python package ``tensorflow``; the dynamic loader then matches
the extension's dependencies by their SONAME. They are loaded with RTLD_LOCAL: with RTLD_GLOBAL a
later ``import torch`` or ``import jax`` would crash on clashing symbols.

XLA's C++ interface differs between versions, and code that was built against another one may end
the process. So the version is compared before anything is loaded: with the one that the installed
package requires, and afterwards with the one that the extension states.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hlograph.errors import EngineUnavailableError

if TYPE_CHECKING:
    from types import ModuleType

    from hlograph import _custom_calls, _graphs, _xla

# In this order: libtensorflow_cc depends on libtensorflow_framework.
_LIBRARIES = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
_ENGINE = "pip install 'hlograph[engine]'"
_REBUILD = (
    "Install hlograph again, or in a checkout build it: "
    "pip install --no-build-isolation --force-reinstall --no-deps ."
)


@functools.cache
def native() -> _xla:  # pyright: ignore[reportGeneralTypeIssues]
    """Returns the extension module ``hlograph._xla``.

    Raises:
        EngineUnavailableError: tensorflow-cpu is missing or of another version
            than the extension was built against, or the extension was not built.
    """
    required = _required_version()
    directory = _tensorflow_directory(required)
    if required is not None:
        _check_version(required)
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
            f"the native extension hlograph._xla cannot be loaded: {error}. {_REBUILD}"
        ) from error
    _check_version(extension.TENSORFLOW_VERSION)
    return extension  # pyright: ignore[reportReturnType]


def check_engine() -> None:
    """Checks that the engine is installed, as far as can be told without loading it.

    Raises:
        EngineUnavailableError: tensorflow-cpu is missing or of another version than the one that
            the installed hlograph requires.
    """
    required = _required_version()
    _tensorflow_directory(required)
    if required is not None:
        _check_version(required)


@functools.cache
def has_engine() -> bool:
    """Returns True if ``check_engine`` raises nothing."""
    try:
        check_engine()
    except EngineUnavailableError:
        return False
    return True


@functools.cache
def graphs() -> _graphs:  # pyright: ignore[reportGeneralTypeIssues]
    """Returns the extension module ``hlograph._graphs``, which needs no XLA.

    Raises:
        EngineUnavailableError: The extension was not built.
    """
    return _without_xla("_graphs")  # pyright: ignore[reportReturnType]


@functools.cache
def custom_calls() -> _custom_calls:  # pyright: ignore[reportGeneralTypeIssues]
    """Returns the extension module ``hlograph._custom_calls``, which needs no XLA.

    Raises:
        EngineUnavailableError: The extension was not built.
    """
    return _without_xla("_custom_calls")  # pyright: ignore[reportReturnType]


def _without_xla(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"hlograph.{name}")
    except ImportError as error:
        raise EngineUnavailableError(
            f"the native extension hlograph.{name} cannot be loaded: {error}. {_REBUILD}"
        ) from error


def _required_version() -> str | None:
    """Returns the tensorflow-cpu that the installed hlograph requires.

    None in a source tree that was never installed.
    """
    try:
        requirements = importlib.metadata.requires("hlograph") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    matches = (re.match(r"tensorflow[-_]cpu==([\w.]+)", text) for text in requirements)
    return next((match[1] for match in matches if match), None)


def _tensorflow_directory(required: str | None) -> Path:
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None:
        package = "tensorflow-cpu" if required is None else f"tensorflow-cpu=={required}"
        raise EngineUnavailableError(
            f"expected the package {package}, but no tensorflow is installed. The engine of "
            f"hlograph takes XLA's libraries from it, and never imports it: {_ENGINE}"
        )
    return Path(spec.origin).parent


def _check_version(built: str) -> None:
    installed = _installed_version()
    if installed != built:
        raise EngineUnavailableError(
            f"hlograph was built against tensorflow-cpu {built}, but {installed} is installed; "
            f"XLA's C++ interface differs between versions: {_ENGINE}"
        )


def _installed_version() -> str:
    for name in ("tensorflow-cpu", "tensorflow"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "a tensorflow of unknown version"
