"""Examines a page before rendering: its size, and its text layer if that is to be used."""

from __future__ import annotations

from dataclasses import replace

from inkgate.documents.pdf.characters import glyphs
from inkgate.documents.pdf.edges import cut_lines
from inkgate.documents.pdf.facts import PageFacts
from inkgate.documents.pdf.geometry import fit_page, page_transform
from inkgate.documents.pdf.missing_fonts import font_notes, missing_fonts
from inkgate.documents.pdf.objects import PageObjects, page_objects
from inkgate.documents.pdf.pdfium import PdfiumDocument, PdfiumPage
from inkgate.documents.pdf.remarks import PageRemarks, page_remarks
from inkgate.documents.pdf.text_layer import layer_of
from inkgate.documents.pdf.trust import TextTrust, image_resolution, judge
from inkgate.documents.pdf.wire import Call
from inkgate.page import TextLayer
from inkgate.types import ReviewNote, Size

ALWAYS, NEVER = "always", "never"
"""Values of `PdfText`, which is not imported: pydantic takes longer to load than everything else a worker needs."""


def examine(document: PdfiumDocument, call: Call) -> PageFacts:
    """A page's facts, in pixels of the future rendering.

    Raises:
        PdfFault: page_broken.
        MemoryError: there is not enough.
    """
    with document.page(call.index) as page:
        remarks = page_remarks(document, page, call.index, call.password)
        if call.text != NEVER:
            page.flatten_annotations()
    with document.page(call.index) as page:
        scale = fit_page(page.width, page.height, call.dpi, call.max_side)
        objects = _objects(page, scale.size)
        resolution = image_resolution(objects, scale.size)
        if resolution is not None:
            scale = fit_page(page.width, page.height, call.dpi, call.max_side, resolution)
            objects = _objects(page, scale.size)
        layer, verdict = (None, "not asked for") if call.text == NEVER else _text(page, call.text, objects, scale.size)
    return _with_remarks(PageFacts(scale.size, scale.dpi, layer, verdict), remarks)


def _with_remarks(facts: PageFacts, remarks: PageRemarks) -> PageFacts:
    return replace(facts, layer=_noted(facts.layer, remarks.notes), files=remarks.files)


def _objects(page: PdfiumPage, size: Size) -> PageObjects:
    return page_objects(page, page_transform(page.box, page.rotation, size))


def _text(page: PdfiumPage, when: str, objects: PageObjects, size: Size) -> tuple[TextLayer | None, str]:
    found = glyphs(page, objects, page_transform(page.box, page.rotation, size), size)
    if when == ALWAYS:
        layer = layer_of(found)
        return (layer, "asked for") if layer.lines else (None, TextTrust.EMPTY.value)
    visible = [glyph for glyph in found if glyph.visible]
    layer = layer_of(visible)
    verdict = judge(visible, layer.lines, objects, size)
    used = layer if verdict is TextTrust.TRUSTED else None
    return _noted(used, cut_lines(found, size) if used else font_notes(missing_fonts(found))), verdict.value


def _noted(layer: TextLayer | None, notes: tuple[ReviewNote, ...]) -> TextLayer | None:
    if not notes or layer is None:
        return layer
    return replace(layer, notes=(*layer.notes, *notes))
