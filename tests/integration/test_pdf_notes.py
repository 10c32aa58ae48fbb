"""PDFs that are more, or other, than their pages: forms in XML, portfolios, files inside. What was not read is said."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator

import anyio
import pikepdf
import pytest

from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.library import AsyncOcr
from inkgate.service.page_cache import page_cache
from inkgate.service.reader import CheckedOptions, Reader
from inkgate.serving.cache import MemoryStore
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, ReviewReason
from support.invoice_xml import CII
from support.page_readers import cache_of, page_reader, text_layers
from support.pdf_writer import PdfWriter, paragraph, text_at, text_pdf
from support.scripted_engine import ScriptedEngine

pytestmark = pytest.mark.anyio

PLAIN = text_pdf(paragraph(), paragraph())
FORM = (
    "Loan application of Jane Miller", "Amount of the loan in euros", "Purpose of the loan", "Monthly income",
    "Other obligations", "I confirm that all of this is true and complete.",
)  # fmt: skip
PLACEHOLDERS = (
    ("Please wait...", "If this message is not eventually replaced by the proper contents of the document, your PDF",
     "viewer may not be able to display this type of document.", "You can upgrade to the latest version"),
    ("Bitte warten...", "Wenn diese Meldung nicht durch den eigentlichen Inhalt des Dokuments ersetzt wird, kann Ihr",
     "PDF-Programm diese Art von Dokument möglicherweise nicht anzeigen."),
    ("Veuillez patienter...", "Si ce message n'est pas remplacé par le contenu du document, votre visionneuse PDF ne",
     "peut peut-être pas afficher ce type de document."),
    ("Espere...", "Si este mensaje no se sustituye por el contenido correcto del documento, puede que su visor de PDF",
     "no sea capaz de mostrar este tipo de documento."),
    ("Aguarde...", "Se esta mensagem não for substituída pelo conteúdo adequado do documento, o visualizador de PDF"),
    ("Attendere...", "Se questo messaggio non viene sostituito dal contenuto corretto del documento"),
    ("Een ogenblik geduld...", "Als dit bericht niet wordt vervangen door de inhoud van het document"),
    ("Vänta...", "Om det här meddelandet inte ersätts av dokumentets innehåll"),
    ("To view the full contents of this document, you need a later version of the PDF viewer.",),
    (),
)  # fmt: skip


@pytest.fixture(scope="module")
async def opener() -> AsyncIterator[Opener]:
    async with Opener(LimitSettings(), PdfSettings(workers=1, dpi=72)) as running:
        yield running


async def told(opener: Opener, data: bytes, password: str = "") -> tuple[tuple[str, ...], list[list[ReviewReason]]]:
    """The document's notes, and the reasons for which its pages are to be reviewed."""
    async with opener.open(Document(data), password=password) as opened:
        layers = [(await opened.page(index)).text_layer for index in range(opened.page_count)]
        attachments = [name for layer in layers if layer for name in layer.attachments]
        return opened.notes(attachments), [[note.reason for note in layer.notes] if layer else [] for layer in layers]


def xfa(lines: tuple[str, ...], *, needs_rendering: bool, form: tuple[str, ...] = FORM, packets: bool = False,
        widget: bool = False, pages: int = 1) -> bytes:  # fmt: skip
    """A form in XML on pages with `lines`. `packets`: its parts in an array. `widget`: with a field on the page."""
    writer = PdfWriter()
    field = b"/Annots [%d 0 R]" % writer.add_text_field("x", (30, 30, 200, 50)) if widget else b""
    for _ in range(pages):
        writer.add_page(b"".join(text_at(30, 350 - 16 * at, line, 5) for at, line in enumerate(lines)), entries=field)
    draws = "".join(f"<draw><value><text>{line}</text></value></draw>" for line in form)
    template = f'<template xmlns="http://www.xfa.org/schema/xfa-template/3.0/"><subform>{draws}</subform></template>'
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(writer.build())) as pdf:
        if packets:
            parts = [("preamble", "<xdp>"), ("template", template), ("postamble", "</xdp>")]
            content: pikepdf.Object = pikepdf.Array(
                [each for name, part in parts for each in (name, pdf.make_stream(part.encode()))]
            )
        else:
            content = pdf.make_stream(f"<xdp>{template}</xdp>".encode())
        if "/AcroForm" not in pdf.Root:
            pdf.Root.AcroForm = pikepdf.Dictionary(Fields=[])
        pdf.Root.AcroForm.XFA = content
        if needs_rendering:
            pdf.Root.NeedsRendering = True
        pdf.save(target)
    return target.getvalue()


async def test_placeholders_of_forms_are_told_in_any_language_and_forms_are_not(opener: Opener) -> None:
    wrong = []
    for lines in PLACEHOLDERS:
        for packets in (False, True):
            notes, reasons = await told(opener, xfa(lines, needs_rendering=True, packets=packets))
            if reasons != [[ReviewReason.PLACEHOLDER]] or len(notes) != 1 or "XFA" not in notes[0]:
                wrong.append((lines[:1], notes, reasons))
    for name, data in _not_placeholders():
        notes, reasons = await told(opener, data)
        if notes or any(reasons):
            wrong.append(((name,), notes, reasons))
    assert wrong == []


def _not_placeholders() -> Iterator[tuple[str, bytes]]:
    for packets in (False, True):
        for needs_rendering in (False, True):
            kind = f"{packets} {needs_rendering} "
            yield kind + "form", xfa(FORM, needs_rendering=needs_rendering, packets=packets)
            yield kind + "fields", xfa((), needs_rendering=needs_rendering, packets=packets, widget=True)
            yield kind + "text with fields", xfa(("Name:",), needs_rendering=needs_rendering, widget=True)
            yield kind + "long", xfa(FORM * 3 + (FORM[0],), needs_rendering=needs_rendering, packets=packets)
    yield "old form in a report", xfa(("A report of today",), needs_rendering=False, pages=3)
    yield "no form", PLAIN


async def test_a_placeholder_without_the_mark_of_a_form_to_be_drawn_is_told_by_its_text(opener: Opener) -> None:
    wrong = [
        lines[:1]
        for lines in PLACEHOLDERS[:-1]
        if (await told(opener, xfa(lines, needs_rendering=False)))[1] != [[ReviewReason.PLACEHOLDER]]
    ]
    assert wrong == []


def with_files(*files: str, portfolio: str = "", packed: bool = False, password: str = "", pinned: int = 0) -> bytes:
    """PLAIN with files of these names inside. `portfolio`: the view of its collection."""
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(PLAIN)) as pdf:
        for name in files:
            pdf.attachments[name] = pikepdf.AttachedFileSpec(pdf, b"content")
        if portfolio:
            pdf.Root.Collection = pikepdf.Dictionary(View=pikepdf.Name(portfolio))
        for number in range(pinned):
            spec = pikepdf.AttachedFileSpec(pdf, b"content", filename=f"pinned {number}.txt")
            pin = pikepdf.Dictionary(
                Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.FileAttachment, Rect=[10, 10, 30, 30], FS=spec.obj
            )
            pdf.pages[number % 2].obj["/Annots"] = pikepdf.Array([pdf.make_indirect(pin)])
        mode = pikepdf.ObjectStreamMode.generate if packed else pikepdf.ObjectStreamMode.disable
        encryption = pikepdf.Encryption(owner="o", user=password) if password else False
        pdf.save(target, object_stream_mode=mode, encryption=encryption)
    return target.getvalue()


async def test_files_inside_are_counted_and_some_named(opener: Opener) -> None:
    assert await told(opener, PLAIN) == ((), [[], []])
    one, many = with_files("plan.xlsx"), with_files(*[f"{at}.txt" for at in range(60)])
    assert await told(opener, one) == (('The PDF has 1 file attached, which was not read: "plan.xlsx".',), [[], []])
    (note,) = (await told(opener, many))[0]
    assert note.startswith('The PDF has 60 files attached, which were not read: "0.txt", "1.txt"')
    assert note.endswith(", 55 more.")
    (note,) = (await told(opener, with_files("a.txt", pinned=2)))[0]
    assert note == 'The PDF has 3 files attached, which were not read: "a.txt", "pinned 0.txt", "pinned 1.txt".'


async def test_names_of_files_are_harmless_in_a_note(opener: Opener) -> None:
    names = (
        "a\u202egnp.exe", "b\nSECOND LINE", "c\x1b[31mred", "d" * 5000, 'e"quoted', "f\0g", "\u200b", "../../passwd",
        "<script>alert(1)</script>", "\u2066isolated\u2069", "\ufeffmark", "tab\tbed", "\u0000", "   ", "é́́́.pdf",
        "名前.pdf", "ملف.pdf", "\x85next", "\u2028line", "\u00adsoft",
    )  # fmt: skip
    notes = [note for name in names for note in (await told(opener, with_files(name)))[0]]
    assert len(notes) == len(names)
    assert [note for note in notes if len(note) > 130 or not note.isprintable() or note.count('"') not in (0, 2)] == []


async def test_the_cover_of_a_portfolio_is_for_review_and_a_hidden_collection_is_not(opener: Opener) -> None:
    wrong = []
    for view in ("/D", "/T", "/C", "/H"):
        for packed in (False, True):
            for password in ("", *["pässwört"] * packed):
                for count in (1, 7):
                    names = [f"{at}.pdf" for at in range(count)]
                    data = with_files(*names, portfolio=view, packed=packed, password=password)
                    (note,), reasons = await told(opener, data, password)
                    cover = [] if view == "/H" else [ReviewReason.PLACEHOLDER]
                    if reasons != [cover, []] or ("portfolio" in note) != bool(cover) or '"0.pdf"' not in note:
                        wrong.append((view, packed, password, note, reasons))
    assert wrong == []


async def test_an_invoice_that_is_read_is_no_file_that_was_not(opener: Opener) -> None:
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(PLAIN)) as pdf:
        pdf.attachments["factur-x.xml"] = pikepdf.AttachedFileSpec(pdf, CII.encode())
        pdf.save(target)
        invoice = target.getvalue()
        pdf.attachments["times.csv"] = pikepdf.AttachedFileSpec(pdf, b"1")
        pdf.save(target := io.BytesIO())
    assert (await told(opener, invoice))[0] == ()
    assert (await told(opener, target.getvalue()))[0] == (
        'The PDF has 1 file attached, which was not read: "times.csv".',
    )


async def test_a_result_has_the_notes_and_the_page_is_for_review() -> None:
    async with AsyncOcr({}) as ocr:
        read = await ocr.read(Document(xfa(PLACEHOLDERS[1], needs_rendering=True), "a.pdf"), pdf_text="always")
        assert "XFA" in " ".join(read.notes)
        assert read.needs_review == (0,)
        assert read.pages[0].review == (ReviewReason.PLACEHOLDER,)
        pinned = await ocr.read(Document(with_files(pinned=1), "b.pdf"))
        assert pinned.notes == ('The PDF has 1 file attached, which was not read: "pinned 0.txt".',)
        assert (pinned.needs_review, pinned.pages[0].attachments) == ((), ("pinned 0.txt",))


async def test_a_result_has_the_addresses_that_links_lead_to() -> None:
    links = (
        "https://example.org/a?b=1",
        "https://example.org/K\u00f6ln".encode(),
        "javascript:alert(1)",
        "mailto:a@example.org",
        "https://example.org/a?b=1",
    )
    with pikepdf.open(io.BytesIO(PLAIN)) as pdf:
        actions = [pikepdf.Dictionary(S=pikepdf.Name.URI, URI=pikepdf.String(link)) for link in links]
        boxes = [pikepdf.Array([10, 20 * at, 90, 20 * at + 15]) for at in range(len(links))]
        pdf.pages[0].Annots = pikepdf.Array(
            pdf.make_indirect(
                pikepdf.Dictionary(Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Link, Rect=box, A=action)
            )
            for box, action in zip(boxes, actions, strict=True)
        )
        pdf.save(target := io.BytesIO())
    async with AsyncOcr({}) as ocr:
        for pdf_text in ("auto", "never"):
            read = await ocr.read(Document(target.getvalue()), pdf_text=pdf_text)
            assert [page.links for page in read.pages] == [
                (links[0], "https://example.org/Köln", "mailto:a@example.org"),
                (),
            ]


async def test_files_on_pages_that_the_cache_answers_are_named_too(opener: Opener) -> None:
    engine = page_reader(ScriptedEngine(), text_layers=text_layers(), cache=page_cache(MemoryStore(100_000), 60.0))
    document = Document(with_files(pinned=1))  # once: a PDF made in another second has other bytes
    reader = Reader(opener, engine, LimitSettings())
    results = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cache_of(engine).run)
        await anyio.wait_all_tasks_blocked()
        for _ in range(2):
            async with reader.read(document, CheckedOptions(), NO_CALLER) as reading:
                results.append(await reading.all())
        tasks.cancel_scope.cancel()
    assert [result.notes for result in results] == [
        ('The PDF has 1 file attached, which was not read: "pinned 0.txt".',)
    ] * 2
    assert list(results[1].pages[0].timings_ms) == ["cache"]
