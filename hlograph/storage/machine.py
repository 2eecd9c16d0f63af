"""Identity of the machine that a speed was measured on.

Speed that was measured on one machine says little about another one, and little about another
jaxlib. A stored result names its machine, and is used only where `machine()` is equal to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from hlograph.errors import DamagedFileError

_CPU_INFO = Path("/proc/cpuinfo")

# Flags of /proc/cpuinfo that begin like this say which instructions XLA and its libraries choose
# from. The others (virtualization, timers, power) differ between equal CPUs.
_INSTRUCTION_SETS = (
    *("adx", "aes", "avx", "amx", "bf16", "bmi", "f16c", "fma", "gfni", "pclmul", "popcnt"),
    *("sha", "sse", "ssse", "vaes", "vpclmul"),
    *("asimd", "i8mm", "sve"),  # Arm
)

# The widest instruction sets, by the flag that says so, and the flag of XLA that bounds them.
_WIDEST = {"avx512f": "avx512", "avx2": "avx2", "avx": "avx", "asimd": "neon"}
_BOUND = "--xla_cpu_max_isa="

# Flags of XLA_FLAGS that begin like this write files and change no code.
_WITHOUT_EFFECT = ("--xla_dump",)


@dataclass(frozen=True)
class Machine:
    """CPU, cores and jaxlib; run times compare only where they are equal.

    Attributes:
        cpu: The CPU's name, which may be as vague as ``AMD EPYC``.
        revision: Family, model and stepping, such as ``25.17.1``, which are more exact.
        features: Digest of the CPU's instruction sets, in 8 hexadecimal digits.
        cores: Number of threads of XLA:CPU: of the cores that this process may use, if no variable
            says otherwise (``xla_threads``).
        jaxlib: Version of jaxlib; empty if it is not installed.
        xla_flags: ``XLA_FLAGS`` without the flags that only write dumps.
    """

    cpu: str
    revision: str
    features: str
    cores: int
    jaxlib: str
    xla_flags: str = ""

    @property
    def key(self) -> str:
        """Digest of all attributes in 16 hexadecimal digits, for names of files and entries."""
        return _digest(json.dumps(self.to_json(), sort_keys=True), 16)

    def __str__(self) -> str:
        flags = f", XLA_FLAGS={self.xla_flags}" if self.xla_flags else ""
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''}"
        return f"{self.cpu} ({self.revision}), {cores}, jaxlib {self.jaxlib or 'none'}{flags}"

    def to_json(self) -> dict[str, Any]:
        """Returns the machine as a JSON object, which ``from_json`` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Returns the machine that ``to_json`` wrote.

        Raises:
            DamagedFileError: The content is something else.
        """
        expected = {field.name: int if field.name == "cores" else str for field in fields(cls)}
        if (
            not isinstance(content, dict)
            or {name: type(value) for name, value in content.items()} != expected
        ):
            raise DamagedFileError(
                f"expected a machine with the keys {', '.join(expected)}, got {content!r:.200}"
            )
        return cls(**content)


def machine() -> Machine:
    """Returns the identity of this machine, for this process: its cores and its XLA_FLAGS."""
    described = cpu_info()
    if "cpu family" in described:
        keys = ("cpu family", "model", "stepping")
    else:  # Arm
        keys = ("CPU implementer", "CPU part", "CPU revision")
    flags = (described.get("flags") or described.get("Features") or "").split()
    return Machine(
        cpu=described.get("model name") or platform.processor() or platform.machine(),
        revision=".".join(described.get(key, "?") for key in keys),
        features=_digest(" ".join(sorted(f for f in flags if f.startswith(_INSTRUCTION_SETS))), 8),
        cores=xla_threads(),
        jaxlib=_jaxlib_version(),
        xla_flags=_xla_flags(os.environ.get("XLA_FLAGS", "")),
    )


def instruction_set() -> str:
    """Returns the widest instruction set that XLA:CPU uses in this process, such as ``avx512``.

    It is that of ``--xla_cpu_max_isa`` in XLA_FLAGS, or else of the CPU; empty if neither says.
    """
    bounds = [f for f in os.environ.get("XLA_FLAGS", "").split() if f.startswith(_BOUND)]
    if bounds:
        return bounds[-1].removeprefix(_BOUND).lower()
    described = cpu_info()
    flags = (described.get("flags") or described.get("Features") or "").split()
    return next((name for flag, name in _WIDEST.items() if flag in flags), "")


def xla_threads() -> int:
    """Returns the number of threads of XLA:CPU: of ``PJRT_NPROC`` or ``NPROC``, or else the cores.

    XLA reads these variables once (``DefaultThreadPoolSize`` of ``xla/pjrt/cpu``).
    """
    for name in ("PJRT_NPROC", "NPROC"):
        if (given := os.environ.get(name, "")).isdecimal() and int(given) > 0:
            return int(given)
    return usable_cores()


def usable_cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not on Linux


def cpu_info() -> dict[str, str]:
    """Returns the first processor of /proc/cpuinfo; empty on systems without that file."""
    try:
        text = _CPU_INFO.read_text()
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def _jaxlib_version() -> str:
    try:
        return version("jaxlib")
    except PackageNotFoundError:
        return ""


def _xla_flags(text: str) -> str:
    """Returns the flags with single spaces, in their order, because the last of a name counts."""
    if text.strip() and not text.lstrip().startswith("-"):
        # XLA takes it for the path of a file with flags.
        with contextlib.suppress(OSError):
            text = Path(text.strip()).read_text()
    return " ".join(flag for flag in text.split() if not flag.startswith(_WITHOUT_EFFECT))


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
