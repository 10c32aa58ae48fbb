"""Binary formats over HTTP, from Python and on the command line."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import anyio
import anyio.lowlevel
import pypdfium2
import pytest

from inkgate.cli.inputs import InputDocument
from inkgate.cli.outputs import ExistingResults, to_folder, to_stdout
from inkgate.documents.files import FileFormat
from support.api_client import running_api, tiff
from support.pdf_writer import locked_pdf, text_at

pytestmark = pytest.mark.anyio

DOCX, XLSX = FileFormat.DOCX.media_type, FileFormat.XLSX.media_type


async def test_format_and_accept_choose_a_file() -> None:
    async with running_api() as api:
        pdf = await api.client.post("/ocr?format=pdf", files={"file": tiff(2)})
        word = await api.client.post("/ocr?format=docx", files={"file": tiff(2)})
        excel = await api.client.post("/ocr", files={"file": tiff(2)}, headers={"accept": XLSX})
        tables = await api.client.post("/ocr", files={"file": tiff(2)}, headers={"accept": "text/csv"})
    assert [answer.status_code for answer in (pdf, word, excel, tables)] == [200] * 4
    assert [answer.headers["content-type"] for answer in (pdf, word, excel, tables)] == [
        "application/pdf",
        DOCX,
        XLSX,
        "text/csv; charset=utf-8",
    ]
    assert pdf.headers["x-inkgate-status"] == "complete"
    shown = [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(pdf.content)]
    assert ["Hello page" in text for text in shown] == [True, True]
    assert "word/document.xml" in zipfile.ZipFile(io.BytesIO(word.content)).namelist()
    assert "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(excel.content)).namelist()


async def test_a_pdf_is_written_with_the_password_of_its_request() -> None:
    data = locked_pdf("geheim", text_at(10, 10, "x"))
    async with running_api(pdf={"text": "never"}) as api:
        answer = await api.client.post("/ocr?format=pdf", files={"file": data}, data={"password": "geheim"})
        refused = await api.client.post("/ocr?format=pdf", files={"file": data})
    assert answer.status_code == 200, answer.text
    assert pypdfium2.PdfDocument(answer.content, password="geheim")[0].get_textpage().count_chars() > 0  # noqa: S106
    assert (refused.status_code, refused.json()["code"]) == (422, "pdf_encrypted")


async def test_outputs_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = InputDocument(tmp_path / "a.pdf", Path("a.pdf"))
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(Exception, match="2"):  # its own result would replace it
        to_folder(tmp_path, (FileFormat.PDF,), [source], ExistingResults.REPLACE)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(Exception, match="2"):
        to_stdout((FileFormat.XLSX,), 1)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert to_stdout((FileFormat.XLSX,), 1).format is FileFormat.XLSX
    with pytest.raises(Exception, match="2"):
        to_stdout((FileFormat.XLSX,), 2)
    await anyio.lowlevel.checkpoint()
