"""Makes torch compute the same bits on every x86-64 CPU with AVX2.

torch's own kernels, oneDNN and MKL choose code by the vendor and the vector width of the CPU, and
add up in another order or round otherwise in each. Environment variables fix the choice:

- `ATEN_CPU_CAPABILITY`: vector width of torch's own sums, norms and element-wise functions.
- `ONEDNN_MAX_CPU_ISA`: oneDNN computes GELU on a CPU, otherwise with AVX-512 where there is any.
- `MKL_CBWR`: matrix products, the QR decomposition of orthogonal initialisation, and exponentials.
  MKL has other code for Intel's CPUs than for others, also with `MKL_CBWR=AVX2,STRICT`. Only
  `COMPATIBLE` runs the same code everywhere. It uses SSE2, so it is slow.

Nothing here imports torch: the variables count only if they are set before torch first computes.
"""

import os
import sys
from pathlib import Path

from hlograph.errors import HloError

PORTABLE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
}
"""Environment variables under which results do not depend on the CPU."""
_CPUINFO = Path("/proc/cpuinfo")


def use_portable_kernels() -> None:
    """Sets the environment of this process, and of processes that it starts, to `PORTABLE`.

    Raises:
        HloError: torch is imported already with other settings, or the CPU has no AVX2.
    """
    if all(os.environ.get(name) == value for name, value in PORTABLE.items()):
        return
    if "torch" in sys.modules:
        settings = " ".join(f"{name}={value}" for name, value in PORTABLE.items())
        raise HloError(
            "expected to choose portable CPU kernels before torch is imported, it is imported "
            f"already; set {settings} in the environment"
        )
    if not _has_avx2():
        raise HloError("portable CPU kernels need an x86-64 CPU with AVX2, this CPU has none")
    os.environ.update(PORTABLE)


def _has_avx2() -> bool:
    """Returns True if Linux lists AVX2 among the CPU's features."""
    try:
        return "avx2" in _CPUINFO.read_text(encoding="utf-8").split()
    except OSError:
        return False
