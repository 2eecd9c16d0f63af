"""Files of ``KnownNoOps``, mapped into memory."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import uuid
from pathlib import Path

from hlograph._native import native
from hlograph.errors import DamagedFileError

_MAGIC = b"hlograph known no-ops 1\n"


def file_header(max_bytes: int) -> bytes:
    """Returns the header of a file of this engine.

    It identifies the bytes of the extension, which hold the passes, their options, the fingerprint
    and the version of XLA, and XLA's flags, which passes depend on.

    Args:
        max_bytes: Size of the file.
    """
    extension = Path(str(native().__file__)).read_bytes()
    flags = os.environ.get("XLA_FLAGS", "").encode()
    engine = hashlib.blake2b(extension + flags, digest_size=24).digest()
    return _MAGIC + engine + max_bytes.to_bytes(8, "little")


def map_file(path: Path, header: bytes) -> mmap.mmap:
    """Maps the file that begins with a header, and creates it if there is none.

    Args:
        path: The file. One with another header of ``file_header`` is replaced.
        header: The header.

    Raises:
        DamagedFileError: The file is something else.
        OSError: The file cannot be created, or there is no space for it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a+b") as file:
            # Locked while the file is checked and created; never while the table is used.
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_still(path, file.fileno()):
                continue
            file.seek(0)
            found = file.read(len(header))
            size = int.from_bytes(header[-8:], "little")
            if found == header and os.fstat(file.fileno()).st_size == size:
                # The mapping keeps the file open, and so would keep the lock.
                fcntl.flock(file, fcntl.LOCK_UN)
                return mmap.mmap(file.fileno(), size)
            if found and not found.startswith(_MAGIC):
                raise DamagedFileError(
                    f"{path} is no table of known no-ops: expected it to begin with {_MAGIC!r}, "
                    f"got {found[: len(_MAGIC)]!r}. Name another file, or delete this one"
                )
            # A new file instead of new content: other processes may have mapped the old one.
            _create(path, header, size)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _create(path: Path, header: bytes, size: int) -> None:
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with unfinished.open("xb") as file:
            # A write to a hole of a mapped file would end the process if the disk is full.
            os.posix_fallocate(file.fileno(), 0, size)
            file.write(header)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
