"""Links and emphasis of PDFs in Markdown and in Word."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import inkgate
from support.pdf_writer import LOREM, PdfWriter, text_at


def linked_pdf() -> bytes:
    """A page with a bold word, an italic one, two links on it, and one that runs a script."""
    writer = PdfWriter()
    fonts = (writer.add_font("Helvetica-Bold"), writer.add_font("Helvetica-Oblique"))
    content = b"".join(text_at(30, 350 - 17 * row, line) for row, line in enumerate(LOREM * 2))
    content += text_at(30, 200, "Read") + text_at(62, 200, "the guide", font=2) + text_at(120, 200, "today", font=3)
    content += text_at(155, 200, "and come again.")
    boxes = (
        (60, 197, 116, 211, "https://example.com/guide"),
        (155, 197, 176, 211, "javascript:app.alert\\(1\\)"),
        (178, 197, 210, 211, "file:///etc/passwd"),
    )
    links = [
        writer.add(
            b"<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [%g %g %g %g] /A << /S /URI /URI (%s) >> >>"
            % (left, bottom, right, top, address.encode())
        )
        for left, bottom, right, top, address in boxes
    ]
    writer.add_page(content, fonts=fonts, entries=b"/Annots [%s]" % b" ".join(b"%d 0 R" % number for number in links))
    return writer.build()


def test_links_and_emphasis_are_in_markdown_and_links_are_real_in_word(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(linked_pdf())
    result = inkgate.read(tmp_path / "a.pdf", task="parse")
    assert "Read [**the guide**](https://example.com/guide) *today* and come again." in result.markdown
    assert "javascript" not in result.markdown
    assert "/etc/passwd" not in result.markdown
    assert "Read the guide today and come again." in result.text
    assert result.pages[0].links == ("https://example.com/guide",)
    result.save(tmp_path / "a.docx")
    with ZipFile(tmp_path / "a.docx") as word:
        body = word.read("word/document.xml").decode()
        relations = word.read("word/_rels/document.xml.rels").decode()
    assert "https://example.com/guide" in relations
    assert body.count("<w:hyperlink ") == 1
    assert "the guide" in body.partition("<w:hyperlink ")[2].partition("</w:hyperlink>")[0]
    assert "](" not in body
