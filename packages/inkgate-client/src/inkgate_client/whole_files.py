"""Writes files atomically."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path


def write_whole(path: Path, data: bytes, *, parents: bool = False) -> None:
    """Writes a file atomically: it is never visible half-written. An existing file is replaced and keeps its
    permissions, the one that a link leads to as well; what is no regular file, such as a pipe, is written to. Several
    threads may write into one folder at once. `parents`: make missing folders.

    Raises:
        OSError: it can't be written; no partial file remains.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    part = path.parent / f".inkgate-{secrets.token_hex(8)}.part"
    try:
        with part.open("xb") as file:
            if path.exists():
                shutil.copymode(path, part)
            file.write(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
