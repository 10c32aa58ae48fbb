"""Tags of PDFs: lines know the blocks of their document's structure, whatever the file makes of the structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from inkgate.documents.pdf.examine import examine
from inkgate.documents.pdf.pdfium import PdfiumDocument
from inkgate.documents.pdf.tags import MAX_DEPTH, MAX_ELEMENTS, MAX_PAGES
from inkgate.documents.pdf.wire import Op, PdfCall
from inkgate.page import LineTag, TagKind
from support.pdf_writer import PdfWriter, text_at

Tags = dict[str, LineTag | None]


def tags_of(data: bytes, index: int = 0) -> Tags:
    """The tags of a page's lines, by their texts."""
    document = PdfiumDocument(np.frombuffer(data, np.uint8))
    try:
        layer = examine(document, PdfCall(Op.PAGE, 0, index=index, dpi=150.0, max_side=3000, text="auto")).layer
    finally:
        document.close()
    assert layer is not None
    return {line.text: style.tag for line, style in zip(layer.lines, layer.styles, strict=True)}


def marked(number: int, y: float, text: str, tag: str = "P") -> bytes:
    return b"/%s << /MCID %d >> BDC %s EMC\n" % (tag.encode(), number, text_at(30, y, text))


class TaggedPdf(PdfWriter):
    """A file with a structure tree."""

    def begin(self, *contents: bytes) -> list[int]:
        """Adds pages; returns the numbers of their objects."""
        self.root = self.add(b"")
        return [self.add_page(content, entries=b"/StructParents %d" % i) for i, content in enumerate(contents)]

    def element(self, tag: str, page: int, kids: str | Sequence[int], number: int | None = None) -> int:
        """Adds an element, or writes that of a `number`. `kids`: its elements, or what the file says they are."""
        written = kids if isinstance(kids, str) else references(kids)
        number = number or self.add(b"")
        body = f"<< /Type /StructElem /S /{tag} /P {self.root} 0 R /Pg {page} 0 R /K [{written}] >>"
        self.objects[number - 1] = body.encode()
        for kid in () if isinstance(kids, str) else kids:
            self.objects[kid - 1] = self.objects[kid - 1].replace(b"/P %d 0" % self.root, b"/P %d 0" % number)
        return number

    def finish(self, kids: Sequence[int], *owners: Sequence[int]) -> bytes:
        """The file. `kids`: of the tree's root; `owners`: of each page, the elements of its marked content."""
        pages = " ".join(f"{i} [{references(page)}]" for i, page in enumerate(owners))
        roles = "<< /Heading#201 /H1 >>"
        tree = f"<< /Type /StructTreeRoot /K [{references(kids)}] /ParentTree << /Nums [{pages}] >> /RoleMap {roles} >>"
        self.objects[self.root - 1] = tree.encode()
        self.catalog = b"/MarkInfo << /Marked true >> /StructTreeRoot %d 0 R" % self.root
        return self.build()


def references(numbers: Sequence[int]) -> str:
    return " ".join(f"{number} 0 R" for number in numbers)


def test_lines_have_the_blocks_of_the_tree_in_its_order() -> None:
    pdf = TaggedPdf()
    content = marked(0, 200, "Second in the tree") + marked(1, 184, "and its other line") + marked(2, 300, "First")
    (page,) = pdf.begin(
        content + b"/Artifact BMC " + text_at(30, 380, "Running head") + b"EMC " + text_at(30, 20, "None")
    )
    title, text = pdf.element("Heading#201", page, "2"), pdf.element("P", page, "0 1")
    assert tags_of(pdf.finish([title, text], [text, text, title])) == {
        "Running head": LineTag(-1, TagKind.ARTIFACT),
        "First": LineTag(0, TagKind.TITLE),
        "Second in the tree": LineTag(1, TagKind.TEXT),
        "and its other line": LineTag(1, TagKind.TEXT),
        "None": None,
    }


def test_parts_of_lists_and_tables_and_spans_are_no_blocks_of_their_own() -> None:
    pdf = TaggedPdf()
    texts = ["Item one", "Item two", "Cell", "Heading in a cell", "Span", "Note"]
    (page,) = pdf.begin(b"".join(marked(i, 300 - 30 * i, text) for i, text in enumerate(texts)))
    items = [pdf.element("LBody", page, str(i)) for i in range(2)]
    cells = [pdf.element("P", page, "2"), pdf.element("H1", page, "3")]
    inside = [pdf.element("Span", page, "4"), pdf.element("Note", page, "5")]
    bullets = pdf.element("L", page, [pdf.element("LI", page, [item]) for item in items])
    table, text = pdf.element("Table", page, cells), pdf.element("P", page, inside)
    found = tags_of(pdf.finish([bullets, table, text], [*items, *cells, *inside]))
    assert [found[text] for text in texts] == [
        LineTag(0, TagKind.LIST),
        LineTag(1, TagKind.LIST),
        LineTag(2, TagKind.TABLE),
        LineTag(2, TagKind.TABLE),
        LineTag(3, TagKind.TEXT),
        LineTag(4, TagKind.FOOTNOTE),
    ]


def test_paragraph_on_two_pages_has_only_the_text_of_each() -> None:
    pdf = TaggedPdf()
    first, second = pdf.begin(
        marked(0, 300, "Begins here") + marked(1, 270, "Ends a page"),
        marked(0, 300, "Goes on") + marked(1, 270, "Next"),
    )
    refs = "".join(f"<< /Type /MCR /Pg {page} 0 R /MCID {n} >>" for page, n in ((first, 1), (second, 0)))
    begin, both, last = pdf.element("P", first, "0"), pdf.element("P", first, refs), pdf.element("P", second, "1")
    data = pdf.finish([begin, both, last], [begin, both], [both, last])
    assert [tag and tag.block for tag in tags_of(data, 0).values()] == [0, 1]
    assert [tag and tag.block for tag in tags_of(data, 1).values()] == [0, 1]


def test_text_of_a_form_does_not_have_the_tag_of_its_number_on_the_page() -> None:
    pdf = TaggedPdf()
    form = pdf.add_form(marked(0, 20, "In the form"), (0, 0, 300, 100))
    pdf.root = pdf.add(b"")
    page = pdf.add_page(b"/I0 Do " + marked(0, 300, "On the page"), images=(form,), entries=b"/StructParents 0")
    title = pdf.element("H1", page, "0")
    found = tags_of(pdf.finish([title], [title]))
    assert found == {"In the form": None, "On the page": LineTag(0, TagKind.TITLE)}


def test_text_that_two_blocks_claim_has_no_tag() -> None:
    pdf = TaggedPdf()
    (page,) = pdf.begin(marked(0, 300, "Claimed twice") + marked(1, 270, "Claimed once"))
    title, text = pdf.element("H1", page, "0"), pdf.element("P", page, "0 1")
    found = tags_of(pdf.finish([title, text], [title, text]))
    assert found == {"Claimed twice": None, "Claimed once": LineTag(1, TagKind.TEXT)}


@pytest.mark.parametrize(("pages", "tagged"), [(MAX_PAGES, True), (MAX_PAGES + 1, False)])
def test_large_document_is_read_without_tags(pages: int, tagged: bool) -> None:
    pdf = TaggedPdf()
    first, *_ = pdf.begin(marked(0, 300, "A page of many"), *[b""] * (pages - 1))
    text = pdf.element("P", first, "0")
    assert tags_of(pdf.finish([text], [text])) == {"A page of many": LineTag(0, TagKind.TEXT) if tagged else None}


@pytest.mark.parametrize("depth", [10, 2_000])
def test_deep_tree_costs_at_most_its_tags(depth: int) -> None:
    pdf = TaggedPdf()
    (page,) = pdf.begin(marked(0, 300, "Deep"))
    innermost = child = pdf.element("P", page, "0")
    for _ in range(depth):
        child = pdf.element("Sect", page, [child])
    found = tags_of(pdf.finish([child], [innermost]))
    assert found == {"Deep": LineTag(0, TagKind.TEXT) if depth < MAX_DEPTH else None}


def test_tree_that_contains_itself_ends() -> None:
    pdf = TaggedPdf()
    (page,) = pdf.begin(marked(0, 300, "Round"))
    one, other = pdf.add(b""), pdf.add(b"")
    pdf.element("Sect", page, f"{other} 0 R 0", one)
    pdf.element("P", page, [one, other], other)
    assert list(tags_of(pdf.finish([one, other], [one]))) == ["Round"]


def test_tree_with_too_many_elements_has_no_tags() -> None:
    pdf = TaggedPdf()
    (page,) = pdf.begin(marked(0, 300, "Wide"))
    text = pdf.element("P", page, "0 " * (MAX_ELEMENTS + 1))
    assert tags_of(pdf.finish([text], [text])) == {"Wide": None}


@pytest.mark.parametrize("kids", ["null", "(text) /Name -1 1e9 [0]", "999999 0 R"])
def test_broken_tree_has_no_tags(kids: str) -> None:
    pdf = TaggedPdf()
    (page,) = pdf.begin(marked(0, 300, "Broken"))
    text = pdf.element("P", page, kids)
    assert tags_of(pdf.finish([text, 424242], [text])) == {"Broken": None}
