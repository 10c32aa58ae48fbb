"""Files that clients send: paths, URLs, bytes, open files, and images in memory."""

from __future__ import annotations

import os
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast, runtime_checkable
from urllib.parse import unquote, urlsplit

from inkgate_client.types import Document
from inkgate_client.whole_files import write_whole

if TYPE_CHECKING:
    from PIL.Image import Image


@runtime_checkable
class BinaryFile(Protocol):
    """A file open in binary mode. Not IOBase, because wrappers such as tempfile's are not."""

    def read(self, size: int = -1, /) -> bytes:
        """Reads the rest of the file."""
        ...


@runtime_checkable
class Pixels(Protocol):
    """A PIL image, or a NumPy array of uint8 or bool: grey (height, width), RGB (height, width, 3), or RGBA. OpenCV has
    BGR: give `image[:, :, ::-1]`.
    """

    @property
    def __array_interface__(self) -> Mapping[str, Any]: ...


File = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile | Pixels
"""A path, a URL (`str`, http or https), which is fetched here and not by the service, the bytes, a file open in binary
mode, which is read from its current position, or an image as Pixels.
"""
Source = File | Document
"""A document to read: a File, or a Document, which is bytes with a name."""

MAX_FETCHED_BYTES = 512 * 1024 * 1024
"""Maximum bytes fetched from a URL. Services take less."""
FETCH_S = 600.0
"""Time limit for a URL, for a website that sends a byte now and then."""


def is_url(file: Source) -> TypeGuard[str]:
    """Whether `file` is to be fetched."""
    return isinstance(file, str) and file[:8].lower().startswith(("http://", "https://"))


def url_name(url: str) -> str:
    """The last part of a URL's path, for the document's name."""
    return PurePosixPath(unquote(urlsplit(url).path)).name or "document"


def store(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, whole or not at all. Blocking. Raises OSError."""
    write_whole(Path(path), data)


def load(file: Source, name: str) -> tuple[str, bytes]:
    """The name for `file` (`name` if given), and its bytes. Blocking.

    Raises:
        OSError: the file does not exist or can't be read.
        ValueError: the file is closed, the path has a null byte, or an array is no image.
        TypeError: `file` is not a `File`.
    """
    if isinstance(file, Document):
        return name or file.name, file.data
    if isinstance(file, bytes | bytearray | memoryview):
        return name or "document", bytes(file)
    if isinstance(file, str | os.PathLike):
        path = Path(file)
        return name or path.name, path.read_bytes()
    if isinstance(file, BinaryFile):
        return name or _name_of(file), _bytes_of(file)
    if "PIL.Image" in sys.modules and isinstance(file, sys.modules["PIL.Image"].Image):
        return name or _name_of_image(file), _png_of_image(file)
    if isinstance(file, Pixels):
        return name or "image.png", _png_of_array(file)
    raise _wrong_type(file)


def _wrong_type(file: object) -> TypeError:
    needed = "A document must be a path, bytes, a file opened in binary mode, a PIL image or a NumPy array"
    several = " For several documents, use `read_many` of an Ocr or a client." if isinstance(file, Iterable) else ""
    return TypeError(f"{needed}, not {type(file).__name__}.{several}")


def _bytes_of(file: BinaryFile) -> bytes:
    data: object = file.read()
    if not isinstance(data, bytes):
        raise TypeError('Open the file in binary mode: open(path, "rb").')
    return data


def _name_of_image(image: Image) -> str:
    opened: object = getattr(image, "filename", None)  # of images that were opened
    return (Path(opened).name if isinstance(opened, str) else "") or "image.png"


_WIDE_MODES = frozenset({"F", "I"})
_PNG_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I;16"})


def _png_of_image(image: Image) -> bytes:
    """The image as PNG, upright as its EXIF says."""
    from PIL import ImageOps  # is there, because the image is

    if image.mode in _WIDE_MODES:  # Pillow would make most of it white
        given = "float32" if image.mode == "F" else "int32"
        raise ValueError(f'The pixels are {given}, not uint8. Scale them to 0 to 255, and convert the image to "L".')
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I;16"):
        upright = upright.convert("I").convert("I;16")  # of another byte order
    if upright.mode not in _PNG_MODES:
        upright = upright.convert("RGB")
        upright.info.pop("icc_profile", None)  # of the other mode
    dpi = image.info.get("dpi")
    known = {"dpi": dpi} if isinstance(dpi, tuple) and len(dpi) == 2 and min(dpi) > 0 else {}
    out = BytesIO()
    upright.save(out, "PNG", compress_level=_FASTEST, **known)
    return out.getvalue()


_FASTEST = 1
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}
"""PNG's numbers of grey, RGB and RGBA, by channels."""
_NUMBERS = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def _png_of_array(array: Pixels) -> bytes:
    """The array as PNG. Written here, since clients install neither NumPy nor Pillow."""
    about = array.__array_interface__
    shape, kind = about["shape"], about["typestr"][1:]
    channels = shape[2] if len(shape) == 3 else 1
    if len(shape) not in {2, 3} or channels not in _COLOUR_TYPES or 0 in shape:
        forms = "(height, width), (height, width, 3) as RGB, or (height, width, 4) as RGBA"
        raise ValueError(f"An array of shape {shape} is no image: it must be {forms}.")
    if kind not in {"u1", "b1"}:
        given = f"{_NUMBERS[kind[0]]}{8 * int(kind[1:])}" if kind[0] in _NUMBERS else kind
        raise ValueError(f"The pixels are {given}, not uint8. From 0 to 1: (pixels * 255).astype('uint8').")
    pixels = memoryview(cast("Any", array)).tobytes()
    if kind == "b1":
        pixels = pixels.translate(bytes([0]) + bytes([255]) * 255)
    row = shape[1] * channels
    lines = b"".join(b"\0" + pixels[start : start + row] for start in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", shape[1], shape[0], 8, _COLOUR_TYPES[channels], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, _FASTEST)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )


def _name_of(file: BinaryFile) -> str:
    name: object = getattr(file, "name", None)  # io.BytesIO has none; a pipe's is a number
    return Path(os.fsdecode(name)).name if isinstance(name, str | bytes) else "document"
