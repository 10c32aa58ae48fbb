"""The pages of a TIFF file, found without reading what is on them.

Pillow finds a frame by reading all before it, each against a list of those seen: quadratic in the number of frames,
which a hostile file chooses. Here the chain of directories is walked once, and a page is opened by a header that
points straight at its directory.

Source of the layout: TIFF 6.0, section 2, and its BigTIFF extension.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from inkgate.errors import InputRejected

MAX_FRAMES = 65_535
"""Directories that are followed: libtiff's own limit for classic files (tdir_t was 16 bits wide)."""
_NEW_SUBFILE_TYPE = 254
_REDUCED_OR_MASK = 0b101


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where numbers stand, and how wide they are, in a classic or a big TIFF."""

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
    """Offsets of the directories of the file's pages, in the file's order; thumbnails and masks are left out.

    A directory beyond the end of the file is listed too, as the last: a file cut short has a page that can't be read.

    Raises:
        InputRejected: `too_many_pages`, beyond `MAX_FRAMES`; `image_corrupt`, where there is none.
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
    """The offset of the directory after the one at `at` (0: none), and whether that at `at` is a page."""
    (count,) = struct.unpack_from(layout.count, data, at)
    entries = at + struct.calcsize(layout.count)
    is_page = True
    # NewSubfileType is the lowest tag there is, and entries are sorted: it comes first or not at all.
    if count and struct.unpack_from(layout.order + "H", data, entries) == (_NEW_SUBFILE_TYPE,):
        value_at = entries + layout.entry_bytes - struct.calcsize(layout.offset)
        (value,) = struct.unpack_from(layout.order + "I", data, value_at)
        is_page = not value & _REDUCED_OR_MASK
    (following,) = struct.unpack_from(layout.offset, data, entries + count * layout.entry_bytes)
    return following, is_page


def file_at(data: bytes, offset: int) -> io.BytesIO:
    """The file with the directory at `offset` as its first. Copies `data` unless it is the first already."""
    layout = _Layout.of(data)
    file = io.BytesIO(data)
    header = struct.pack(layout.offset, offset)
    if data[layout.first_at : layout.first_at + len(header)] != header:
        file.seek(layout.first_at)
        file.write(header)
        file.seek(0)
    return file
