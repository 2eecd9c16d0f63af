"""Reads what may differ between machines of one identity, and between two starts of one of them.

A stored plan is looked up by ``hlograph.storage.machine.Machine``: where that differs, its speed
says nothing. Where that is equal and the host is not, the plan is likely to do as well, but has to
show it: another kernel, microcode or C library, or fewer threads by a limit of the control group.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass

from hlograph.execution.load import cpu_quota
from hlograph.storage.machine import cpu_info, usable_cores


@dataclass(frozen=True)
class Host:
    """A machine as its system shows it to this process.

    Attributes:
        kernel: Release of the kernel.
        microcode: Revision of the CPU's microcode; empty if the system does not say.
        flags: All flags of the CPU, in which equal CPUs differ beneath other hypervisors.
        c_library: Name and version of the C library.
        cpus: CPUs whose time this process may use, which need not be a whole number.
    """

    kernel: str
    microcode: str
    flags: str
    c_library: str
    cpus: float

    @property
    def key(self) -> str:
        """Digest of all attributes in 8 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:8]


def host() -> Host:
    """Returns the host of this process."""
    described = cpu_info()
    cores = float(usable_cores())
    return Host(
        kernel=platform.release(),
        microcode=described.get("microcode", ""),
        flags=described.get("flags") or described.get("Features") or "",
        c_library=" ".join(platform.libc_ver()),
        cpus=min(cores, cpu_quota() or cores),
    )
