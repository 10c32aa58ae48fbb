"""The same five documents, read by every way in with the real engine: the results are the same, byte for byte."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangchainDocument
from mcp.client.client import Client
from mcp_types import TextContent

from inkgate.integrations.mcp.files import AllowedFiles
from inkgate.integrations.mcp.tools import DocumentTools
from inkgate.library import LocalReader, Ocr
from inkgate.settings import load_settings
from inkgate_client import InkgateClient
from inkgate_client.formats.markdown import content_of
from inkgate_client.langchain import InkgateLoader
from inkgate_client.reading import DocumentReader, RemoteReader
from support.pdf_writer import paragraph, text_pdf
from support.server import Server, inkgate, running_server

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "src" / "inkgate" / "cli" / "demo" / "samples"
NAMES = ("report", "cafe", "notice", "lease", "text")
Texts = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class EveryWay:
    """The folder of the documents, a running service, and what the library read."""

    folder: Path
    server: Server
    markdown: Texts
    text: Texts
    fields: Mapping[str, Any]

    def files(self, folder: Path, suffix: str) -> Texts:
        """The files of the documents in a folder of results."""
        found = {name: next(iter(sorted(folder.glob(f"{name}*{suffix}"))), None) for name in NAMES}
        return {name: b"" if path is None else path.read_bytes() for name, path in found.items()}


@pytest.fixture(scope="module")
def every_way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:
    folder = tmp_path_factory.mktemp("scans")
    shutil.copy(ROOT / "examples" / "report.png", folder / "report.png")
    shutil.copy(SAMPLES / "receipts" / "two-bridges-cafe.jpg", folder / "cafe.jpg")
    shutil.copy(SAMPLES / "archive" / "notice.png", folder / "notice.png")
    shutil.copy(SAMPLES / "contracts" / "lease-signed.pdf", folder / "lease.pdf")
    (folder / "text.pdf").write_bytes(text_pdf(paragraph(), paragraph()))
    with running_server() as server:
        with Ocr() as ocr:
            read = {Path(str(each.source)).stem: each.result for each in ocr.read_many(sorted(folder.iterdir()))}
            found = {name: ocr.extract(folder / f"{name}{suffix}") for name, suffix in [("cafe", ".jpg")]}
        yield EveryWay(
            folder,
            server,
            {name: result.render("markdown") for name, result in read.items()},
            {name: result.render("text") for name, result in read.items()},
            {name: each.answer for name, each in found.items()},
        )


def run(*arguments: object) -> None:
    ended = inkgate(*map(str, arguments))
    assert ended.returncode == 0, ended.stderr.decode()


@pytest.mark.parametrize("by", ["here", "server"])
def test_the_command_line_reads_extracts_and_watches_the_same(every_way: EveryWay, tmp_path: Path, by: str) -> None:
    reader = () if by == "here" else ("--server", every_way.server.url)
    run("read", every_way.folder, "-o", tmp_path / "read", "-f", "markdown,text", *reader)
    assert every_way.files(tmp_path / "read", ".md") == every_way.markdown
    assert every_way.files(tmp_path / "read", ".txt") == {name: every_way.text[name] for name in NAMES}
    run("watch", every_way.folder, tmp_path / "watch", "--once", "--poll", "0.1", "--type", "auto", *reader)
    assert every_way.files(tmp_path / "watch", ".md") == every_way.markdown
    fields = json.loads((tmp_path / "watch" / "cafe.fields.json").read_bytes())
    assert fields == every_way.fields["cafe"]
    run("extract", every_way.folder / "cafe.jpg", "-o", tmp_path / "fields", *reader)
    answer = json.loads((tmp_path / "fields" / "cafe.json").read_bytes())
    assert answer["fields"] == every_way.fields["cafe"]["fields"]
    assert answer["document"]["name"] == answer["file"] == str(every_way.folder / "cafe.jpg")


@pytest.mark.parametrize("by", ["here", "server"])
def test_a_batch_reads_the_same(every_way: EveryWay, tmp_path: Path, by: str) -> None:
    reader = () if by == "here" else ("--server", every_way.server.url)
    run("batch", every_way.folder, tmp_path, "-f", "markdown", *reader)
    assert every_way.files(tmp_path / "markdown", ".md") == every_way.markdown


def test_jobs_and_loaders_read_the_same(every_way: EveryWay) -> None:
    paths = sorted(every_way.folder.iterdir())
    with InkgateClient(every_way.server.url) as client:
        jobs = {path.stem: client.jobs.submit(path, task="parse") for path in paths}
        for name, job in jobs.items():
            assert job.wait(120).state == "succeeded"
            assert job.result_in("markdown") == every_way.markdown[name], name
        pages = {path.stem: [content_of(page).strip() for page in client.read(path).pages] for path in paths}
    loaded: dict[str, list[LangchainDocument]] = {}
    for here in (False, True):
        loader = InkgateLoader(paths) if here else InkgateLoader(paths, server=every_way.server.url)
        documents = loader.load()
        assert [document.page_content for document in documents] == [
            text for path in paths for text in pages[path.stem]
        ]
        loaded[str(here)] = documents
    assert loaded["False"] == loaded["True"]


def test_agents_are_told_the_same_here_and_by_a_service(every_way: EveryWay) -> None:
    async def said(reader: DocumentReader, path: Path) -> tuple[str, Any]:
        tools = DocumentTools(reader, AllowedFiles.below([path.parent], 10**8, anywhere=False))
        async with Client(tools.server()) as client:
            read = await client.call_tool("read", {"document": str(path)})
            found = await client.call_tool("extract", {"document": str(path), "type": "receipt"})
        [content] = read.content
        assert isinstance(content, TextContent)
        return content.text.partition(": ")[2], found.structured_content

    async def both() -> None:
        async with (
            RemoteReader.of([every_way.server.url]) as remote,
            LocalReader(load_settings(None)) as local,
        ):
            for name, suffix in (("cafe", ".jpg"), ("text", ".pdf")):
                path = every_way.folder / f"{name}{suffix}"
                assert await said(local, path) == await said(remote, path)

    asyncio.run(both())


def test_values_are_verified_the_same_here_and_by_a_service(every_way: EveryWay, tmp_path: Path) -> None:
    total = every_way.fields["cafe"]["data"]["total"]
    (tmp_path / "data.json").write_text(json.dumps({"total": total, "date": "1901-01-01"}))
    verify = ("verify", every_way.folder / "cafe.jpg", tmp_path / "data.json", "--type", "receipt")
    here, there = (inkgate(*map(str, (*verify, *by))) for by in ((), ("--server", every_way.server.url)))
    assert (here.returncode, here.stderr) == (there.returncode, there.stderr)
    assert json.loads(here.stdout) == json.loads(there.stdout)
    found = json.loads(here.stdout)["data"]
    assert (found["total"], found["date"]) == (total, None)


def test_fields_are_those_of_the_http_api(every_way: EveryWay) -> None:
    with InkgateClient(every_way.server.url) as client:
        found = client.extract(every_way.folder / "cafe.jpg")
    assert found.answer == every_way.fields["cafe"]
