"""Describes the machine and the software of a measurement."""

from __future__ import annotations

import os
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import psutil

from benchmarks.settings import Settings
from hlograph.storage.provenance import provenance

_PACKAGES = ("jax", "jaxlib", "protobuf", "networkx", "matplotlib", "enzyme-ad")


def made_with(settings: Settings) -> dict[str, Any]:
    """Returns machine, versions, commit, command, date and settings, as JSON."""
    made = machine()
    made["device"] = _device(settings.device)
    plain = asdict(settings).items()
    made["settings"] = {k: str(v) if isinstance(v, Path) else v for k, v in plain}
    return made


def machine() -> dict[str, Any]:
    """Returns machine, versions, commit, command and date, as JSON."""
    made = provenance()
    installed = {p.metadata["Name"].replace("_", "-"): p.version for p in distributions()}
    made["versions"] |= {name: installed[name] for name in _PACKAGES if name in installed}
    made["processor"] = _processor()
    made["cpus"] = len(os.sched_getaffinity(0))
    made["memory_gib"] = round(psutil.virtual_memory().total / 2**30)
    made["load"] = round(os.getloadavg()[0], 2)
    return made


def _processor() -> str:
    """Returns the name of the processor, as Linux has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def _device(name: str) -> str:
    """Returns the name of the GPU, or the device's own name."""
    if not name.startswith("cuda"):
        return name
    import torch

    return torch.cuda.get_device_name(torch.device(name))
