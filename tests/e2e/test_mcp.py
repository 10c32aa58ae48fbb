"""`inkgate mcp` with the official client of the Model Context Protocol, over standard input and over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = str(EXAMPLES / "report.png")
KEY = "a-key-of-this-test"


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def over_stdio() -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "inkgate", "mcp", "--folder", str(EXAMPLES)], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        yield client


@contextmanager
def http_server() -> Iterator[str]:
    command = [sys.executable, "-m", "inkgate", "mcp", "--http", "--port", "0", "--folder", str(EXAMPLES)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "INKGATE_MCP_KEY": KEY}
    ) as server:
        assert server.stderr is not None
        try:
            lines = iter(server.stderr.readline, "")
            yield next(found[0] for line in lines if (found := re.search(r"http://\S+/mcp", line)))
        finally:
            server.terminate()
            server.communicate(timeout=60)
    assert server.returncode == 0


@pytest.mark.smoke
async def test_an_agent_reads_searches_and_checks_a_document() -> None:
    async with over_stdio() as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"read", "page", "search", "extract", "verify", "document_types"}
        pages: list[tuple[float, float | None]] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            assert message is None
            pages.append((progress, total))

        said = text_of(await client.call_tool("read", {"document": SAMPLE}, progress_callback=note))
        assert "| Gaza & West Bank | 2.60 |" in said
        assert pages == [(1, 1)]
        document_id = said.split()[1].rstrip(":")
        found = text_of(await client.call_tool("search", {"document_id": document_id, "words": "gaza &west"}))
        assert re.fullmatch(r"page 1 \[\d+, \d+, \d+, \d+\]: Gaza & West Bank", found)
        [page] = (await client.read_resource(f"inkgate://documents/{document_id}/pages/1")).contents
        assert isinstance(page, TextResourceContents)
        assert "| Algeria | 6.19 |" in page.text
        part = {"document_id": document_id, "number": 1, "max_characters": 500, "first_character": 10}
        assert text_of(await client.call_tool("page", part)).startswith(page.text[10:510])

        checked = await client.call_tool("verify", {"document": SAMPLE, "data": {"Algeria": "6.19", "Egypt": "9.99"}})
        assert data_of(checked) == {"Algeria": "6.19", "Egypt": None}
        fields = await client.call_tool("extract", {"document": SAMPLE, "fields": ["Morocco"]})
        assert data_of(fields) == {"Morocco": "21.09"}
        assert "receipt" in str((await client.call_tool("document_types", {})).structured_content)

        errors: dict[str, tuple[str, dict[str, object]]] = {
            "outside of what": ("read", {"document": "/etc/hostname"}),
            "Page 7 was not read": ("page", {"document_id": document_id, "number": 7}),
            "Read it again": ("search", {"document_id": "doc_other", "words": "x"}),
            "type_unknown": ("extract", {"document": SAMPLE, "type": "no_such_type"}),
            "type_unsupported": ("read", {"document": "data:text/plain;base64,YWJj"}),
        }
        wrong = {}
        for part_of_text, (tool, arguments) in errors.items():
            refused = await client.call_tool(tool, arguments)
            if not refused.is_error or part_of_text not in text_of(refused):
                wrong[part_of_text] = text_of(refused)
        assert wrong == {}


def data_of(result: CallToolResult) -> object:
    assert result.structured_content is not None
    return result.structured_content["data"]


async def test_over_http_a_key_and_an_own_name_are_needed() -> None:
    with http_server() as url:
        begin = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx.AsyncClient(trust_env=False, headers=accept, timeout=60) as stranger:
            assert (await stranger.post(url, json=begin)).status_code == 401
            key = {"Authorization": f"Bearer {KEY}"}
            assert (await stranger.post(url, json=begin, headers={**key, "Host": "evil.example"})).status_code == 421
            foreign = {**key, "Origin": "https://evil.example"}
            assert (await stranger.post(url, json=begin, headers=foreign)).status_code == 403
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {KEY}"}) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert "| Tunisia | 14.50 |" in text_of(await client.call_tool("read", {"document": SAMPLE}))
            refused = await client.call_tool("read", {"document": "/etc/hostname"})
            assert refused.is_error
