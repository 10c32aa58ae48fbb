"""Memory shared with the workers: a document's bytes on the way in, a page's pixels on the way out.

Both are memfds: they have no name, nothing of them stays behind when everybody has gone, and they count neither as
files nor against /dev/shm. They are sealed against shrinking, without which a worker gone bad could pull memory away
from under this process (SIGBUS).
"""

from __future__ import annotations

import fcntl
import mmap
import os

import numpy as np

from inkgate.types import RgbArray, Size


def seal_bytes(data: bytes) -> int:
    """A descriptor of a sealed copy of `data` that nobody can change any more. Blocking: a copy of the whole."""
    fd = os.memfd_create("inkgate-pdf", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    except BaseException:
        os.close(fd)
        raise
    return fd


def map_bytes(fd: int, size: int) -> mmap.mmap:
    """The bytes of `seal_bytes`, mapped and not copied."""
    # Private: before Linux 6.7 a file sealed against writing can't be mapped shared, not even for reading.
    return mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)


def make_bitmap(size: Size) -> int:
    """A descriptor of shared memory for RGB pixels of `size`, of fixed length. Costs nothing until written."""
    fd = os.memfd_create("inkgate-page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size.pixels * 3)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(fd)
        raise
    return fd


def map_bitmap(fd: int, size: Size) -> RgbArray:
    """The pixels of `make_bitmap`, (H, W, 3) uint8, not copied. The memory is freed with the array."""
    memory = mmap.mmap(fd, size.pixels * 3)
    return np.frombuffer(memory, np.uint8).reshape(size.height, size.width, 3)
