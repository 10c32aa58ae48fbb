"""Memory shared with the workers: a document's bytes and a page's pixels.

Both are memfds: they have no name, disappear with their last user, and count neither as files nor against /dev/shm.
They are sealed against shrinking; otherwise a hijacked worker could crash this process (SIGBUS).

The service uses file objects and not bare descriptors: a closed descriptor's number may be reused for another upload,
while a closed file raises an error.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from io import FileIO

import numpy as np

from inkgate.types import RgbArray, Size


def seal_bytes(data: bytes) -> FileIO:
    """A sealed, immutable copy of `data`. Blocking: copies everything."""
    file = FileIO(os.memfd_create("inkgate-pdf", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+")
    try:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    except BaseException:
        file.close()
        raise
    return file


def map_bytes(fd: int, size: int) -> mmap.mmap:
    """Maps the bytes of `seal_bytes` without copying. In a worker."""
    # Private, because before Linux 6.7 a write-sealed file can't be mapped shared, even for reading.
    return mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)


def make_bitmap(size: Size) -> FileIO:
    """Shared memory for RGB pixels of `size`, of fixed length. Uses no memory until written."""
    file = FileIO(os.memfd_create("inkgate-page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+")
    try:
        file.truncate(size.pixels * 3)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    except BaseException:
        file.close()
        raise
    return file


def map_bitmap(fd: int, size: Size) -> RgbArray:
    """Maps the pixels of `make_bitmap`, (H, W, 3) uint8, without copying. The memory is freed with the array."""
    memory = mmap.mmap(fd, size.pixels * 3)
    return np.frombuffer(memory, np.uint8).reshape(size.height, size.width, 3)
