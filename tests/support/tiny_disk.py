"""A file system that a test can fill."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SIZE_MB = 8


@dataclass(frozen=True)
class TinyDisk:
    """A file system of a few megabytes."""

    folder: Path

    def fill(self) -> None:
        """Fills it to the last byte."""
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            for size in (64 * 1024, 1024, 1):
                _write_until_full(filler.fileno(), bytes(size))

    def clear(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)


def _write_until_full(file: int, piece: bytes) -> None:
    try:
        while os.write(file, piece):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


@contextmanager
def tiny_disk(folder: Path) -> Iterator[TinyDisk | None]:
    """Mounted at `folder`; None if mounting is not allowed, which needs root."""
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", f"size={_SIZE_MB}m", "inkgate-test", str(folder)]
    if mount is None or subprocess.run([mount, *options], check=False, capture_output=True).returncode:
        yield None
        return
    try:
        yield TinyDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
