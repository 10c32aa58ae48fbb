import io
import zipfile

import pytest

from inkgate.documents.sniff import FileType, sniff
from inkgate.errors import InputRejected
from support.images import corners, encoded, heic


def test_images_are_known_by_their_bytes() -> None:
    cases = [
        ("JPEG", FileType.JPEG),
        ("PNG", FileType.PNG),
        ("WEBP", FileType.WEBP),
        ("TIFF", FileType.TIFF),
        ("BMP", FileType.BMP),
        ("GIF", FileType.GIF),
        ("AVIF", FileType.AVIF),
    ]
    wrong = [
        (image_format, found)
        for image_format, file_type in cases
        if (found := sniff(encoded(corners(), image_format))) is not file_type
    ]
    assert wrong == []


def test_heic_and_big_tiff_are_known_by_their_bytes() -> None:
    assert sniff(heic(corners())) is FileType.HEIC
    assert sniff(encoded(corners(), "TIFF", big_tiff=True)) is FileType.TIFF


@pytest.mark.parametrize(
    ("brands", "file_type"),
    [
        (b"mif1\0\0\0\0mif1heic", FileType.HEIC),
        (b"mif1\0\0\0\0mif1avif", FileType.AVIF),
        (b"avis\0\0\0\0avifmsf1", FileType.AVIF),
        (b"XXXX\0\0\0\0avif", FileType.AVIF),
    ],
)
def test_brands_tell_avif_from_heic(brands: bytes, file_type: FileType) -> None:
    assert sniff((8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands) is file_type


@pytest.mark.parametrize("junk", [b"", b"\n\n", b"\0" * 1000])
def test_a_pdf_header_may_come_late(junk: bytes) -> None:
    assert sniff(junk + b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n") is FileType.PDF


def test_an_empty_file_is_called_empty() -> None:
    with pytest.raises(InputRejected, match="document_empty"):
        sniff(b"")


def _zip(name: str, content: str = "x") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


UNREADABLE = [
    (b"Hello, this is a letter.\nYours", "text"),
    ("Ein Brief über Öl, abgeschnitten: ü".encode()[:-1], "text"),
    ("汉字".encode("utf-16"), "text"),
    (b"BM is how this text begins", "text"),
    (b"P100 is a printer", "text"),
    (b'{"image": "..."}', "JSON"),
    (b"  <!DOCTYPE html><html></html>", "an HTML page"),
    (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG drawing"),
    (b"data:image/png;base64,iVBORw0KGgo=", "a data URL"),
    (b"iVBORw0KGgoAAAANSUhEUg", "base64 text"),
    (b"/9j/4AAQSkZJRgABAQ", "base64 text"),
    (b"\x00" * 64, "a run of zero bytes"),
    (b"\x93\x01\x02\xff\xfe\x00\x07", "no file type that inkgate knows"),
    (_zip("notes.txt"), "a ZIP archive (an Office document?)"),
    (_zip("[Content_Types].xml"), "an Office document"),
    (_zip("mimetype", "application/vnd.oasis.opendocument.text"), "an OpenDocument file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 9, "an old Office document"),
    (b"P4\n128 128\n\xff\xff", "a Netpbm image"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000 image"),
    (b"\x00\x00\x00\x18ftypmp42\0\0\0\0mp42isom", "a video or sound file"),
    (b"RIFF\x10\0\0\0WAVEfmt ", "a sound file"),
]


def test_what_is_not_read_is_told_what_it_looks_like() -> None:
    wrong = []
    for data, words in UNREADABLE:
        with pytest.raises(InputRejected) as caught:
            sniff(data)
        if caught.value.code != "type_unsupported" or f"looks like {words}" not in caught.value.detail:
            wrong.append((data[:40], words, caught.value.detail))
    assert wrong == []
