"""Prepares processes: memory allocation, TensorBoard and torch."""

import ctypes

from hlograph.storage.event_files import tensorboard_without_tensorflow
from models.cpu_kernels import use_portable_kernels

# From glibc's malloc.h; 32 MiB is the largest threshold that glibc accepts.
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_LARGEST_THRESHOLD = 32 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Tells glibc to keep what is freed instead of handing it back to the kernel.

    A graph encoder frees and takes blocks of megabytes many times a second. With glibc's
    defaults each of them is mapped anew and paged in zeroed: some 16,000 page faults in one
    forward pass, which take longer than its arithmetic.

    Returns:
        Whether the C library took the settings; another one than glibc is left as it is.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    settings = {
        _M_MMAP_THRESHOLD: _LARGEST_THRESHOLD,
        _M_TRIM_THRESHOLD: 16 * _LARGEST_THRESHOLD,
        _M_TOP_PAD: 2 * _LARGEST_THRESHOLD,
    }
    taken = [mallopt(name, value) for name, value in settings.items()]
    return all(taken)


def prepare_worker(deterministic: bool = False) -> None:
    """Prepares a process that plays policies and never learns.

    Args:
        deterministic: True computes the same bits on every CPU with AVX2. A worker on the same
            machine inherits this from the process that started it.

    Raises:
        HloError: See `models.cpu_kernels.use_portable_kernels`.
    """
    if deterministic:
        use_portable_kernels()
    keep_freed_memory()
    _repeat_exactly("cpu")


def prepare_process(device: str, deterministic: bool = False) -> None:
    """Prepares a process that trains: memory, tensorboard, and torch.

    An operation of torch has one thread. PPO's update has some of its own: with OpenMP's,
    which wait for each other after every operation, torch gets slower by the factor 3 to 10
    where there is any other work on the machine, and sums depend on their number.

    Args:
        device: Torch device that will be used.
        deterministic: True computes the same bits on every x86-64 CPU with AVX2, at 1.3 to 1.5
            times the time of the networks on a CPU.

    Raises:
        HloError: See `models.cpu_kernels.use_portable_kernels`.
    """
    if deterministic:
        use_portable_kernels()
    keep_freed_memory()
    tensorboard_without_tensorflow()
    import torch

    torch.set_num_threads(1)
    _repeat_exactly(device)


def _repeat_exactly(device: str) -> None:
    import torch

    # All operations that the policies use are deterministic on the CPU. On a GPU some may
    # not be: there it is better to hear of it than to be refused. Unlike
    # torch.use_deterministic_algorithms, this imports no compiler, which takes seconds.
    torch.set_deterministic_debug_mode("error" if torch.device(device).type == "cpu" else "warn")
    # Filling fresh memory guards against reading it before it is written; nothing here does.
    torch.utils.deterministic.fill_uninitialized_memory = False  # pyright: ignore[reportAttributeAccessIssue]
