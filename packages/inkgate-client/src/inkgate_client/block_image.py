"""The image of a figure. Beside types.py, whose results hold it, because of its size."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class BlockImage:
    """The pixels of a block of types.PICTURE_TYPES, upright.

    Attributes:
        name: a file name that no other image of the document has, such as `page-1-2.jpg`.
        mime_type: `image/jpeg` or `image/png`.
        width, height: in pixels of the image, which may be fewer than those of the block's box.
        base64: the file.
    """

    name: str
    mime_type: str
    width: int
    height: int
    base64: str

    def __post_init__(self) -> None:
        """Raises ValueError if `name` could lead to another folder: it may come from a service, and files get it."""
        if not _FILE_NAME.fullmatch(self.name):
            raise ValueError("the name of an image is no file name")

    @property
    def data(self) -> bytes:
        """The file."""
        return b64decode(self.base64)

    @property
    def data_url(self) -> str:
        """The file as a `data:` URL."""
        return f"data:{self.mime_type};base64,{self.base64}"
