"""Examines a page before rendering: its size, and what its text layer says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inkgate.documents.pdf.characters import drawn_characters, page_characters
from inkgate.documents.pdf.edges import cut_lines
from inkgate.documents.pdf.facts import PageFacts
from inkgate.documents.pdf.fonts import FontDoubts
from inkgate.documents.pdf.geometry import Transform, fit_page, page_transform
from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.missing_fonts import font_names, font_notes, has_unembedded, missing_fonts
from inkgate.documents.pdf.objects import PageObjects, page_objects
from inkgate.documents.pdf.pdfium import PdfiumDocument, PdfiumPage
from inkgate.documents.pdf.remarks import PageRemarks, page_remarks
from inkgate.documents.pdf.replaced import without_hidden
from inkgate.documents.pdf.tags import MAX_PAGES, with_tags
from inkgate.documents.pdf.text_layer import layer_of
from inkgate.documents.pdf.trust import Judgement, TextTrust, image_resolution, judge
from inkgate.documents.pdf.wire import PdfCall
from inkgate.documents.pdf.written import garbled_script
from inkgate.page import TextLayer, TextSpan
from inkgate_client.types import Line, ReviewNote, ReviewReason, Size

ALWAYS, NEVER = "always", "never"
"""Values of `PdfText`, which is not imported: pydantic takes longer to load than everything else a worker needs."""
MAX_HIDDEN = 200
"""Invisible lines of a page that are reported."""
MIN_INK = 0.01
"""Least height and width of ink, in ems. A bar of light fonts is 0.04 wide."""
_NO_REMARKS = PageRemarks()
NOT_COMPARED = "the page is too complex to compare its text with what it shows"


def examine(document: PdfiumDocument, call: PdfCall) -> PageFacts:
    """A page's facts, in pixels of the future rendering.

    Raises:
        PdfFault: page_broken.
        MemoryError: there is not enough.
    """
    with document.page(call.index) as page:
        remarks = page_remarks(document, page, call.index, call.password)
        flattened = call.text != NEVER and page.flatten_annotations()
        tagged = document.page_count <= MAX_PAGES
        facts = None if flattened else _facts(page, call, tagged=tagged)
        box, rotation = page.box, page.rotation
    if facts is None:
        with document.page(call.index) as page:
            facts = _facts(page, call, tagged=tagged)
    links = _link_spans(remarks, page_transform(box, rotation, facts.size))
    return replace(facts, layer=_noted(facts.layer, remarks.notes, remarks, links))


def _link_spans(remarks: PageRemarks, to_pixels: Transform) -> tuple[TextSpan, ...]:
    return tuple(TextSpan(to_pixels.box(*box), address=link.address) for link in remarks.links for box in link.boxes)


def _facts(page: PdfiumPage, call: PdfCall, *, tagged: bool) -> PageFacts:
    scale = fit_page(page.width, page.height, call.dpi, call.max_side)
    objects = _objects(page, scale.size)
    resolution = image_resolution(objects, scale.size)
    if resolution is not None:
        scale = fit_page(page.width, page.height, call.dpi, call.max_side, resolution)
        objects = _objects(page, scale.size)
    if call.text == NEVER:
        return PageFacts(scale.size, scale.dpi, _noted(None, _undrawn(page, objects, scale.size)), "not asked for")
    layer, verdict = _text(page, call.text, objects, scale.size)
    if layer is not None and tagged:
        layer = with_tags(layer, page, page_transform(page.box, page.rotation, scale.size))
    return PageFacts(scale.size, scale.dpi, layer, verdict)


def _undrawn(page: PdfiumPage, objects: PageObjects, size: Size) -> tuple[ReviewNote, ...]:
    """Notes about fonts that can't be drawn, of a page whose text layer is not asked for."""
    if not has_unembedded(handle for handle, _ in objects.texts.values()):
        return ()
    found = drawn_characters(page, page_transform(page.box, page.rotation, size), size)
    return font_notes(missing_fonts(glyph for glyph in found if glyph.visible))


def _objects(page: PdfiumPage, size: Size) -> PageObjects:
    return page_objects(page, page_transform(page.box, page.rotation, size))


def _text(page: PdfiumPage, when: str, objects: PageObjects, size: Size) -> tuple[TextLayer | None, str]:
    to_pixels = page_transform(page.box, page.rotation, size)
    found = page_characters(page, objects, to_pixels, size)
    if when == ALWAYS:
        everything = layer_of(found.glyphs)
        return (everything, "asked for") if everything.lines else (None, TextTrust.EMPTY.value)
    missing = font_names(found.undrawn)
    if has_unembedded(handle for handle, _ in objects.texts.values()):
        missing = missing_fonts(found.glyphs) | missing
    visible = without_hidden(found.glyphs)
    doubts = FontDoubts.of(visible, found.sheet)
    judged = judge(visible, doubts, objects, size, found.ink)
    notes = font_notes(missing)
    if judged.layer is not None:
        notes = cut_lines(found.glyphs, size) + (notes if found.undrawn else ())
        notes += () if found.compared else (ReviewNote(ReviewReason.DOUBTFUL_LAYER, NOT_COMPARED),)
        scripts = dict.fromkeys((*doubts.scripts, garbled_script([glyph.text for glyph in visible])))
        notes += tuple(ReviewNote(ReviewReason.DOUBTFUL_LAYER, script) for script in scripts if script)
    hidden = () if judged.verdict is TextTrust.SCAN else _hidden(found.glyphs)
    return _with_findings(judged, hidden, notes), judged.verdict.value


def _with_findings(judged: Judgement, hidden: tuple[Line, ...], notes: tuple[ReviewNote, ...]) -> TextLayer | None:
    if not hidden and not notes:
        return judged.layer
    return replace(TextLayer(()) if judged.layer is None else judged.layer, hidden=hidden, notes=notes)


def _hidden(glyphs: Sequence[Glyph]) -> tuple[Line, ...]:
    """The lines of the page's invisible characters, at most MAX_HIDDEN."""
    if all(glyph.visible for glyph in glyphs):
        return ()
    hidden = [glyph for glyph in glyphs if glyph.text.isspace() or not (glyph.visible or _is_blank(glyph))]
    return layer_of(hidden).lines[:MAX_HIDDEN] if any(not glyph.text.isspace() for glyph in hidden) else ()


def _is_blank(glyph: Glyph) -> bool:
    """Whether the font has no ink for the character: a space with another name."""
    return min(glyph.right - glyph.left, glyph.bottom - glyph.top) < MIN_INK * glyph.size


def _noted(
    layer: TextLayer | None,
    notes: tuple[ReviewNote, ...],
    remarks: PageRemarks = _NO_REMARKS,
    links: tuple[TextSpan, ...] = (),
) -> TextLayer | None:
    if not notes and not remarks.files and not remarks.links:
        return layer
    layer = TextLayer(()) if layer is None else layer
    addresses = tuple(dict.fromkeys(link.address for link in remarks.links))
    return replace(
        layer,
        notes=(*layer.notes, *notes),
        attachments=remarks.files,
        links=addresses,
        spans=(*links, *layer.spans),
    )
