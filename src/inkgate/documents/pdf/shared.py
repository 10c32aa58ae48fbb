"""Memory shared with the workers: a document's bytes on the way in, a page's pixels on the way out.

Both are memfds: they have no name, nothing of them stays behind when everybody has gone, and they count neither as
files nor against /dev/shm. They are sealed against shrinking, without which a worker gone bad could pull memory away
from under this process (SIGBUS).

On the service's side they are files and not bare descriptors: a number that was closed here may be another upload's a
moment later, and a closed file says so instead.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from io import FileIO

import numpy as np

from inkgate.types import RgbArray, Size


def seal_bytes(data: bytes) -> FileIO:
    """A sealed copy of `data` that nobody can change any more. Blocking: a copy of the whole."""
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
    """The bytes of `seal_bytes`, mapped and not copied. In a worker."""
    # Private: before Linux 6.7 a file sealed against writing can't be mapped shared, not even for reading.
    return mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)


def make_bitmap(size: Size) -> FileIO:
    """Shared memory for RGB pixels of `size`, of fixed length. Costs nothing until written."""
    file = FileIO(os.memfd_create("inkgate-page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+")
    try:
        file.truncate(size.pixels * 3)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    except BaseException:
        file.close()
        raise
    return file


def map_bitmap(fd: int, size: Size) -> RgbArray:
    """The pixels of `make_bitmap`, (H, W, 3) uint8, not copied. The memory is freed with the array."""
    memory = mmap.mmap(fd, size.pixels * 3)
    return np.frombuffer(memory, np.uint8).reshape(size.height, size.width, 3)
