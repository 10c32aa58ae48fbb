"""Searchable PDFs, written with pikepdf, which parses strangers' files: in worker processes alone (worker.py)."""

from __future__ import annotations

import io
import mmap
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, BinaryIO, cast

import pikepdf

from inkgate.documents.files import glyphless
from inkgate.documents.files.text_content import FONT
from inkgate.documents.files.wire import MemoryFile, ReceivedPlan, WriteCall, WriteOp
from inkgate.documents.pdf.encryption import password_forms
from inkgate.documents.pdf.geometry import MIN_CROPPED_POINTS, page_transform
from inkgate.documents.pdf.mending import MAX_MENDED_BYTES, with_header, with_trailer
from inkgate.errors import InputRejected
from inkgate_client.types import Box, Size

_LETTER: Box = (0.0, 0.0, 612.0, 792.0)
"""The box of pages without one, as pdfium takes them."""


def write(call: WriteCall, memories: Sequence[mmap.mmap]) -> int:
    """Writes the PDF to the last of `memories`. Returns its length."""
    output = MemoryFile(memories[-1], writable=True)
    if call.op is WriteOp.NEW_PDF:
        with pikepdf.new() as pdf:
            _add_images(pdf, ReceivedPlan(memories[0]))
            pdf.docinfo["/Producer"] = "inkgate"
            _save(pdf, cast("BinaryIO", output))
    else:
        with _opened(memories[0], call.password) as pdf:
            _add_texts(pdf, ReceivedPlan(memories[1]))
            _save(pdf, cast("BinaryIO", output))
    return output.end


def _save(pdf: pikepdf.Pdf, output: BinaryIO) -> None:
    """Streams that are compressed stay as they are, byte by byte, and an encrypted PDF keeps its protection."""
    preserve = pikepdf.ObjectStreamMode.preserve
    if pdf.is_encrypted:
        pdf.save(output, object_stream_mode=preserve, encryption=True, fix_metadata_version=False)
    else:
        pdf.save(
            output,
            object_stream_mode=preserve,
            stream_decode_level=pikepdf.StreamDecodeLevel.none,
            deterministic_id=True,
            fix_metadata_version=False,
        )


def _opened(memory: mmap.mmap, password: str) -> pikepdf.Pdf:
    """The document, repaired if it is damaged."""
    try:
        return _opened_by(lambda: io.BufferedReader(MemoryFile(memory, writable=False), 2**16), password)
    except pikepdf.PdfError as error:
        fault = InputRejected("pdf_corrupt", "The PDF's structure can't be parsed.")
        if len(memory) > MAX_MENDED_BYTES:
            raise fault from error
    headed = with_header(memory[:])
    for mended in (headed, with_trailer(headed)):
        with suppress(pikepdf.PdfError):
            if mended is not None:
                return _opened_by(partial(io.BytesIO, mended), password)
    raise fault


def _opened_by(file: Callable[[], io.BufferedIOBase], password: str) -> pikepdf.Pdf:
    """The document in `file()`, which is called for each form of the password: pikepdf closes it.

    Raises:
        InputRejected: pdf_encrypted or pdf_password_wrong.
        pikepdf.PdfError: it can't be parsed.
    """
    for form in password_forms(password):
        with suppress(pikepdf.PasswordError):
            return pikepdf.open(cast("BinaryIO", file()), password=form, access_mode=_STREAM)
    if password:
        raise InputRejected("pdf_password_wrong", "This password does not open the PDF.")
    raise InputRejected("pdf_encrypted", "The PDF is encrypted and no password was given.")


_STREAM = pikepdf.AccessMode.stream


def _add_texts(pdf: pikepdf.Pdf, plan: ReceivedPlan) -> None:
    texts = [page["text"] for page in plan.pages if page["text"] is not None]
    if not texts:
        return
    font = _font(pdf, plan.to_unicode)
    pages = len(pdf.pages)
    for text in texts:
        if text["index"] >= pages:
            raise InputRejected("pdf_corrupt", "The PDF has fewer pages than were read.")
        page = pdf.pages[text["index"]]
        box, rotation = _visible_box(page), _rotation(page)
        name = _named(page, "/Font", FONT, font)
        matrix = _to_points(box, rotation, Size(text["width"], text["height"]))
        # In front of the page's own content, which may leave any graphics state behind.
        page.contents_add(_stream(pdf, matrix, plan.blob(text["content"]), name, _REPLACED), prepend=True)
        page.contents_add(pikepdf.Stream(pdf, b"EMC"))


def _add_images(pdf: pikepdf.Pdf, plan: ReceivedPlan) -> None:
    font = _font(pdf, plan.to_unicode) if any(page["text"] is not None for page in plan.pages) else None
    for entry in plan.pages:
        image, text = entry["image"], entry["text"]
        width, height = image["page_width"], image["page_height"]
        page = pdf.add_blank_page(page_size=(max(width, 1), max(height, 1)))
        name = _named(page, "/XObject", "Image", _image(pdf, image, plan))
        drawn = f"q {' '.join(f'{number:.4f}' for number in image['matrix'])} cm {name} Do Q"
        page.contents_add(pikepdf.Stream(pdf, drawn.encode()))
        if text is not None and font is not None:
            font_name = _named(page, "/Font", FONT, font)
            matrix = _to_points((0.0, 0.0, width, height), 0, Size(text["width"], text["height"]))
            page.contents_add(_stream(pdf, matrix, plan.blob(text["content"]), font_name))


def _named(page: pikepdf.Page, kind: str, name: str, resource: pikepdf.Object) -> str:
    """Adds a resource to this page alone, whose resources may be shared. Returns its name, `name` or a similar one."""
    found = page.obj.get("/Resources")
    found = _inherited(page, "/Resources") if found is None else found
    resources = pikepdf.Dictionary(dict(found.items()) if isinstance(found, pikepdf.Dictionary) else {})
    known = resources.get(kind)
    some = pikepdf.Dictionary(dict(known.items()) if isinstance(known, pikepdf.Dictionary) else {})
    taken = set(some.keys())  # a file may have thousands of these names, and `some` looks at all to find one
    free = next(candidate for number in count() if (candidate := f"/{name}{number or ''}") not in taken)
    some[free] = resource
    resources[kind] = some
    page.obj["/Resources"] = resources
    return free


_REPLACED = b"/Span << /ActualText ( ) >> BDC\n"
"""The text of what follows is a space (ISO 32000-1, 14.9.4), so that programs find the page's text once, as read."""


def _stream(pdf: pikepdf.Pdf, matrix: str, content: bytes, font: str, end: bytes = b"") -> pikepdf.Stream:
    """A page's invisible text, placed by `matrix`. `end`: operators after it."""
    operators = zlib.decompress(content)
    if font != f"/{FONT}":
        operators = operators.replace(f"/{FONT} ".encode(), f"{font} ".encode())
    data = zlib.compress(b"q " + matrix.encode() + b" cm\n" + operators + b"\nQ\n" + end)
    stream = pikepdf.Stream(pdf, b"")
    stream.write(data, filter=pikepdf.Name.FlateDecode)
    return stream


def _to_points(box: Box, rotation: int, size: Size) -> str:
    """The matrix from pixels of the displayed page to its points: the inverse of geometry.page_transform."""
    there = page_transform(box, rotation, size)
    area = there.a * there.d - there.b * there.c
    a, b, c, d = there.d / area, -there.b / area, -there.c / area, there.a / area
    e, f = -(there.e * a + there.f * c), -(there.e * b + there.f * d)
    return " ".join(f"{number:.6f}" for number in (a, b, c, d, e, f))


def _visible_box(page: pikepdf.Page) -> Box:
    """The box that pdfium shows: the crop box within the media box."""
    media = _box(page.obj.get("/MediaBox") or _inherited(page, "/MediaBox")) or _LETTER
    crop = _box(page.obj.get("/CropBox") or _inherited(page, "/CropBox"))
    if crop is None:
        return media
    both = (max(media[0], crop[0]), max(media[1], crop[1]), min(media[2], crop[2]), min(media[3], crop[3]))
    return both if min(both[2] - both[0], both[3] - both[1]) >= MIN_CROPPED_POINTS else media


def _box(found: object) -> Box | None:
    """A normalised box of area; None for anything else."""
    if not isinstance(found, pikepdf.Array) or len(found) != 4:
        return None
    try:
        numbers = [float(number) for number in found]
    except (TypeError, ValueError):
        return None
    left, right = sorted((numbers[0], numbers[2]))
    bottom, top = sorted((numbers[1], numbers[3]))
    return (left, bottom, right, top) if left < right and bottom < top else None


def _rotation(page: pikepdf.Page) -> int:
    found = page.obj.get("/Rotate")
    found = _inherited(page, "/Rotate") if found is None else found
    try:
        return round(float(found) / 90) % 4 * 90 if found is not None else 0
    except (TypeError, ValueError):
        return 0


def _inherited(page: pikepdf.Page, name: str) -> pikepdf.Object | None:
    """The value of the nearest ancestor that has it."""
    node = page.obj.get("/Parent")
    for _ in range(100):
        if not isinstance(node, pikepdf.Dictionary):
            return None
        if name in node:
            return node[name]
        node = node.get("/Parent")
    return None


def _image(pdf: pikepdf.Pdf, image: Mapping[str, Any], plan: ReceivedPlan) -> pikepdf.Stream:
    colours: object = pikepdf.Name(str(image["colours"]))
    if image["colours"] == "/Indexed":
        entries = plan.blob(image["palette"])
        colours = pikepdf.Array([pikepdf.Name.Indexed, pikepdf.Name.DeviceRGB, len(entries) // 3 - 1, entries])
    stream = pikepdf.Stream(pdf, b"")
    parameters = None
    if image["predictor_colours"]:
        parameters = pikepdf.Dictionary(
            Predictor=15, Colors=image["predictor_colours"], BitsPerComponent=image["bits"], Columns=image["width"]
        )
    stream.write(plan.blob(image["data"]), filter=pikepdf.Name(str(image["filter"])), decode_parms=parameters)
    stream.Type, stream.Subtype = pikepdf.Name.XObject, pikepdf.Name.Image
    stream.Width, stream.Height = image["width"], image["height"]
    stream.ColorSpace, stream.BitsPerComponent = colours, image["bits"]
    if image["inverted"]:
        stream.Decode = pikepdf.Array([1, 0] * 4)
    return stream


def _font(pdf: pikepdf.Pdf, to_unicode: bytes) -> pikepdf.Object:
    """The font without shapes, as a composite font."""
    name = pikepdf.Name(f"/{glyphless.NAME}")
    file = glyphless.font_file()
    descriptor = pikepdf.Dictionary(
        Type=pikepdf.Name.FontDescriptor,
        FontName=name,
        Flags=5,  # fixed pitch, symbolic
        FontBBox=[0, 0, glyphless.WIDTH, 1000],
        ItalicAngle=0,
        Ascent=1000,
        Descent=0,
        CapHeight=1000,
        StemV=80,
        FontFile2=pdf.make_indirect(pikepdf.Stream(pdf, file, Length1=len(file))),
    )
    descendant = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.CIDFontType2,
        BaseFont=name,
        CIDSystemInfo=pikepdf.Dictionary(
            Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String("Identity"), Supplement=0
        ),
        CIDToGIDMap=pdf.make_indirect(_deflated(pdf, glyphless.glyph_of_code())),
        DW=glyphless.WIDTH,
        FontDescriptor=pdf.make_indirect(descriptor),
    )
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type0,
        BaseFont=name,
        Encoding=pikepdf.Name("/Identity-H"),
        DescendantFonts=[pdf.make_indirect(descendant)],
        ToUnicode=pdf.make_indirect(_deflated(pdf, to_unicode)),
    )
    return pdf.make_indirect(font)


def _deflated(pdf: pikepdf.Pdf, data: bytes) -> pikepdf.Stream:
    stream = pikepdf.Stream(pdf, b"")
    stream.write(zlib.compress(data, 9), filter=pikepdf.Name.FlateDecode)
    return stream
