"""Finds the pages of a TIFF file without decoding them.

Pillow finds a frame by reading all frames before it and comparing each with a list: quadratic in the number of frames,
which a hostile file controls. This module walks the chain of directories once, and opens a page with a header that
points directly to its directory.

Source: TIFF 6.0, section 2, and its BigTIFF extension.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from inkgate.errors import InputRejected

MAX_FRAMES = 65_535
"""Maximum number of directories: libtiff's limit for classic files (tdir_t had 16 bits)."""
_NEW_SUBFILE_TYPE = 254
_REDUCED_OR_MASK = 0b101


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions and widths of numbers in a classic or a big TIFF."""

    order: str
    big: bool

    @classmethod
    def of(cls, data: bytes) -> _Layout:
        return cls("<" if data[:2] == b"II" else ">", data[2:4] in {b"+\x00", b"\x00+"})

    @property
    def first_at(self) -> int:
        return 8 if self.big else 4

    @property
    def offset(self) -> str:
        return self.order + ("Q" if self.big else "I")

    @property
    def count(self) -> str:
        return self.order + ("Q" if self.big else "H")

    @property
    def entry_bytes(self) -> int:
        return 20 if self.big else 12


def frame_offsets(data: bytes) -> tuple[int, ...]:
    """Directory offsets of the file's pages in file order, without thumbnails and masks.

    A directory beyond the end of the file is listed too, as the last one: a truncated file has a page that can't be
    read.

    Raises:
        InputRejected: `too_many_pages`, beyond `MAX_FRAMES`; `image_corrupt`, if there are none.
    """
    layout = _Layout.of(data)
    seen: dict[int, bool] = {}
    try:
        (at,) = struct.unpack_from(layout.offset, data, layout.first_at)
    except struct.error as error:
        raise InputRejected("image_corrupt", "The TIFF file ends within its header.") from error
    while at and at not in seen:
        if len(seen) == MAX_FRAMES:
            raise InputRejected("too_many_pages", f"The TIFF file has more than {MAX_FRAMES} pages.")
        try:
            following, seen[at] = _next_frame(data, layout, at)
        except (struct.error, OverflowError):
            seen[at] = True
            break
        at = following
    if not seen:
        raise InputRejected("image_corrupt", "The TIFF file has no pages.")
    pages = tuple(offset for offset, is_page in seen.items() if is_page)
    return pages or tuple(seen)[:1]


def _next_frame(data: bytes, layout: _Layout, at: int) -> tuple[int, bool]:
    """The offset of the directory after the one at `at` (0: none), and whether the one at `at` is a page."""
    (count,) = struct.unpack_from(layout.count, data, at)
    entries = at + struct.calcsize(layout.count)
    is_page = True
    # NewSubfileType is the lowest tag, and entries are sorted, so it is the first entry or missing.
    if count and struct.unpack_from(layout.order + "H", data, entries) == (_NEW_SUBFILE_TYPE,):
        value_at = entries + layout.entry_bytes - struct.calcsize(layout.offset)
        (value,) = struct.unpack_from(layout.order + "I", data, value_at)
        is_page = not value & _REDUCED_OR_MASK
    (following,) = struct.unpack_from(layout.offset, data, entries + count * layout.entry_bytes)
    return following, is_page


def file_at(data: bytes, offset: int) -> io.BytesIO:
    """The file with the directory at `offset` as the first. Copies `data` unless it is the first already."""
    layout = _Layout.of(data)
    file = io.BytesIO(data)
    header = struct.pack(layout.offset, offset)
    if data[layout.first_at : layout.first_at + len(header)] != header:
        file.seek(layout.first_at)
        file.write(header)
        file.seek(0)
    return file
