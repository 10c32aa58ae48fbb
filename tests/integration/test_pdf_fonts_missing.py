"""PDFs without their fonts on a machine that has none for them: the page says so if its pixels are read."""

from __future__ import annotations

import ctypes
import io
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pikepdf

from support.pdf_writer import paragraph, text_pdf

SCRIPTS = (
    ("STSong-Light", "UniGB-UCS2-H", b"GB1", "合同编号发票金额总计税率"),
    ("MSung-Light", "UniCNS-UCS2-H", b"CNS1", "合約編號發票金額總計稅率"),
    ("HeiseiMin-W3", "UniJIS-UCS2-H", b"Japan1", "契約書の請求金額を合計する"),
    ("HYSMyeongJo-Medium", "UniKS-UCS2-H", b"Korea1", "계약서청구금액합계"),
)


def unembedded(name: str, encoding: str, ordering: bytes, text: str, latin: str = "") -> bytes:
    """A page with `text` in a font of a CJK collection that the file does not contain, and `latin` in Helvetica."""
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(f"BT /F1 12 Tf 20 20 Td ({latin}) Tj ET".encode()))) as pdf:
        page = pdf.pages[0]
        font = pikepdf.Name(f"/{name}")
        info = pikepdf.Dictionary(Registry=b"Adobe", Ordering=ordering, Supplement=2)
        box = [0, -200, 1000, 900]
        descriptor = pikepdf.Dictionary(
            Type=pikepdf.Name.FontDescriptor, FontName=font, Flags=4, FontBBox=box, ItalicAngle=0, Ascent=800,
            Descent=-200, CapHeight=700, StemV=80,
        )  # fmt: skip
        below = pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.CIDFontType0, BaseFont=font, CIDSystemInfo=info, DW=1000,
            FontDescriptor=pdf.make_indirect(descriptor),
        )  # fmt: skip
        page.Resources.Font.CJK = pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type0, BaseFont=font,
            Encoding=pikepdf.Name(f"/{encoding}"), DescendantFonts=[pdf.make_indirect(below)],
        )  # fmt: skip
        page.contents_add(f"BT /CJK 16 Tf 20 200 Td <{text.encode('utf-16-be').hex()}> Tj ET".encode())
        pdf.save(target)
    return target.getvalue()


def missing_by_file(files: dict[str, bytes], fonts: Path) -> dict[str, list[str]]:
    """Names of missing fonts by file, where `fonts` is the only folder of fonts. In a process of its own: pdfium looks
    for fonts once.
    """
    for name, data in files.items():
        (fonts / f"{name}.pdf").write_bytes(data)
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, __file__, str(fonts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=paths)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_fonts_that_are_nowhere_are_named_and_those_that_pdfium_has_are_not(tmp_path: Path) -> None:
    files = {"latin": text_pdf(paragraph())}
    expected: dict[str, list[str]] = {"latin": []}
    for font, encoding, ordering, text in SCRIPTS:
        for latin in ("", "Invoice 12"):
            for count in (3, 5, len(text)):
                name = f"{ordering.decode()} {latin} {count}"
                files[name] = unembedded(font, encoding, ordering, text[:count], latin)
                expected[name] = [font]
    assert missing_by_file(files, tmp_path) == expected


def _names(path: Path) -> list[str]:
    from inkgate.documents.pdf.wire import Op, PdfCall
    from inkgate.documents.pdf.worker import PdfHandler

    data = path.read_bytes()
    memory = mmap.mmap(-1, len(data))
    memory.write(data)
    page = PdfHandler().value(PdfCall(Op.PAGE, 1, max_side=1000, text="never"), [memory])
    return [detail for reason, detail, _ in page["notes"] if reason == "font_missing"]


def main() -> None:
    """Prints the missing fonts of the PDFs in the folder that is given, in which alone pdfium looks for fonts."""
    import pypdfium2.raw as pdfium

    folder = ctypes.create_string_buffer(sys.argv[1].encode())
    folders = (ctypes.POINTER(ctypes.c_char) * 2)(ctypes.cast(folder, ctypes.POINTER(ctypes.c_char)))
    pdfium.FPDF_DestroyLibrary()  # pypdfium2 starts it with the system's folders
    config = pdfium.FPDF_LIBRARY_CONFIG(version=2)
    config.m_pUserFontPaths = ctypes.cast(folders, type(config.m_pUserFontPaths))
    pdfium.FPDF_InitLibraryWithConfig(config)
    print(json.dumps({path.stem: _names(path) for path in Path(sys.argv[1]).glob("*.pdf")}))


if __name__ == "__main__":
    main()
