"""Files that inkgate writes, opened by the programs that people use: poppler, pdf.js, LibreOffice, OCRmyPDF."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pypdfium2
import pytest
from PIL import Image

from support.images import encoded
from support.ppocr import drawn
from support.server import Server

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
PDF_JS = ROOT / ".setup" / "npm" / "node_modules" / "pdfjs-dist"
WORDS = ["Invoice", "number", "20417"]  # what the fixture's model reads on any page
PAGE = encoded(Image.fromarray(drawn(["Invoice number 20417"])).convert("RGB"), "JPEG")


def tool(name: str, found: object) -> None:
    """Skips without the tool; fails where all tests must run."""
    if not found:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail(f"{name} is missing here")
        pytest.skip(f"{name} is missing here")


def read(gateway: Server, format_: str) -> bytes:
    form = {"format": format_}
    answer = httpx.post(f"{gateway.url}/ocr", files={"file": ("page.jpg", PAGE)}, data=form, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.content


def output(*command: str, data: bytes | None = None) -> str:
    done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_searchable_pdf_opens_in_poppler_pdfjs_and_pdfium(gateway: Server, tmp_path: Path) -> None:
    tool("pdftotext", shutil.which("pdftotext"))
    tool("pdf.js or node", PDF_JS.exists() and shutil.which("node"))
    file = tmp_path / "page.pdf"
    file.write_bytes(read(gateway, "pdf"))
    assert output("pdftotext", str(file), "-").split() == WORDS
    assert "Pages:           1" in output("pdfinfo", str(file))
    script = str(ROOT / "tests" / "support" / "pdf_text.mjs")
    assert json.loads(output("node", script, str(PDF_JS), data=file.read_bytes()))[0].split() == WORDS
    assert pypdfium2.PdfDocument(file)[0].get_textpage().get_text_bounded().split() == WORDS
    assert PAGE in file.read_bytes()  # the image as it was sent


def test_word_and_excel_files_open_in_libreoffice(gateway: Server, tmp_path: Path) -> None:
    tool("soffice", shutil.which("soffice"))
    for kind, target in (("docx", "txt:Text"), ("xlsx", "csv")):
        (tmp_path / f"page.{kind}").write_bytes(read(gateway, kind))
        profile = f"-env:UserInstallation=file://{tmp_path}/profile"
        convert = ("soffice", profile, "--headless", "--convert-to", target, "--outdir", str(tmp_path))
        output(*convert, f"{tmp_path}/page.{kind}")
    assert (tmp_path / "page.txt").read_text(encoding="utf-8-sig").split() == WORDS
    assert (tmp_path / "page.csv").exists()


def test_ocrmypdf_reads_with_a_service(gateway: Server, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("ocrmypdf")
    tool("ocrmypdf, ghostscript or pdftotext", program.exists() and shutil.which("gs") and shutil.which("pdftotext"))
    source, made = tmp_path / "page.jpg", tmp_path / "made.pdf"
    source.write_bytes(PAGE)
    plugin = ("--plugin", "inkgate.integrations.ocrmypdf", "--inkgate-server", gateway.url)
    # As Stirling-PDF calls it, with what it chooses in its compatible mode.
    asked = ("--verbose", "2", "--output-type", "pdf", "--pdf-renderer", "sandwich", "--language", "eng")
    output(str(program), *plugin, "--image-dpi", "200", *asked, str(source), str(made))
    assert output("pdftotext", str(made), "-").split() == WORDS
