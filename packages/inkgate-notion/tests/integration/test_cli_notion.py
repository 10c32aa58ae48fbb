"""`inkgate notion`: a service reads, and the rows go to a double of Notion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from inkgate.caller import Caller
from inkgate.cli.commands import build
from inkgate.page import Page
from inkgate_client.concurrency import Threads
from inkgate_client.types import PageResult, Task
from support.api_client import pdf, png
from support.notion import DATABASE, TOKEN, Fault, NotionDouble, notion_double
from support.receipt_engine import ReceiptEngine
from support.served_api import served

pytestmark = pytest.mark.anyio


class TextReceiptEngine(ReceiptEngine):
    """With the receipt's text, too."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        found = await super().read(page, task, caller)
        return replace(found, text="\n".join(line.text for line in found.lines))


async def run(double: NotionDouble, *arguments: str, token: str = TOKEN) -> Result:
    """Runs the command in a thread."""
    environment = {"NOTION_TOKEN": token, "NOTION_API_URL": double.url}

    def invoke() -> Result:
        return CliRunner().invoke(build(["notion"]), ["notion", *arguments], env=environment)

    return await Threads("command", 1).run(invoke)


async def test_a_folder_becomes_rows_and_again_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "b.pdf").write_bytes(pdf(2))
    (tmp_path / "broken.png").write_bytes(png()[:60])
    async with served(TextReceiptEngine()) as service, notion_double() as double:
        arguments = (DATABASE, str(tmp_path), "--type", "receipt", "--server", service.url, "--rate", "1000")
        lacking = await run(double, *arguments)
        assert lacking.exit_code == 2
        assert "`File` (files)" in lacking.stderr
        assert "--create-columns" in lacking.stderr
        double.faults.append(Fault("POST pages", done=True))  # its answer is lost
        first = await run(double, *arguments, "--create-columns")
        assert first.exit_code == 1, first.output
        assert "broken.png: " in first.stderr
        rows = {double.values(page)["Name"]: page for page in double.rows}
        assert sorted(rows) == ["a.png", "b.pdf"]
        values = double.values(rows["a.png"])
        assert (values["total"], values["date"], values["Document type"]) == (30.2, "2018-04-03", "receipt")
        assert values["Needs review"] is True
        assert double.file(rows["b.pdf"]) == (tmp_path / "b.pdf").read_bytes()
        assert any("GRAND TOTAL" in text for text in double.text(rows["b.pdf"]["id"]))
        assert all(page["url"] in first.stdout for page in double.rows)
        again = await run(double, *arguments)
        assert again.stdout.count(": unchanged ") == 2
        assert len(double.rows) == 2


async def test_a_wrong_token_a_missing_one_and_a_wrong_column_end_the_command_before_anything_is_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.png").write_bytes(png())
    async with notion_double() as double:
        arguments = (DATABASE, str(tmp_path), "--server", "http://127.0.0.1:9")
        wrong = await run(double, *arguments, token="ntn_wrong")  # noqa: S106
        assert (wrong.exit_code, "401 unauthorized" in wrong.stderr) == (2, True)
        assert "ntn_wrong" not in wrong.output
        missing = await run(double, *arguments, token="")
        assert (missing.exit_code, "NOTION_TOKEN" in missing.stderr) == (2, True)
        column = await run(double, *arguments, "--column", "Total=total")
        assert (column.exit_code, "no value `total`" in column.stderr) == (2, True)
    away = await run(double, *arguments)
    assert (away.exit_code, f"The address of its API is {double.url}." in away.stderr) == (1, True)
