"""The tools for agents, where a service reads."""

from __future__ import annotations

import base64

import httpx
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult, TextContent

from inkgate.integrations.mcp.files import AllowedFiles
from inkgate.integrations.mcp.tools import DocumentTools
from inkgate_client import AsyncInkgateClient
from inkgate_client.reading import RemoteReader
from inkgate_client.retries import RetryPolicy
from support.api_client import png, running_api
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio

DOCUMENT = "data:image/png;base64," + base64.b64encode(png()).decode()


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.smoke
async def test_a_service_reads_extracts_and_verifies_for_agents() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        service = AsyncInkgateClient("http://inkgate.localhost", transport=httpx.ASGITransport(api.app))
        tools = DocumentTools(RemoteReader(service), AllowedFiles((), 1_000_000))
        async with service, Client(tools.server()) as client:
            said = text_of(await client.call_tool("read", {"document": DOCUMENT}))
            assert "1 of 1 pages were read" in said
            words = {"document_id": said.split()[1].rstrip(":"), "words": "grand total"}
            assert "GRAND TOTAL" in text_of(await client.call_tool("search", words))
            found = await client.call_tool("extract", {"document": DOCUMENT, "type": "receipt"})
            assert found.structured_content is not None
            assert found.structured_content["data"]["total"] == "30.20"
            checked = await client.call_tool("verify", {"document": DOCUMENT, "data": {"total": "30.21"}})
            assert checked.structured_content is not None
            assert checked.structured_content["data"] == {"total": None}
            refused = await client.call_tool("extract", {"document": DOCUMENT, "type": "nonsense"})
            assert refused.is_error
            assert "there are" in text_of(refused)
            types = await client.call_tool("document_types", {})
            assert "total" in (types.structured_content or {})["receipt"]


async def test_an_agents_document_is_sent_again_to_a_service_that_is_full() -> None:
    async with running_api() as api:
        app, asked = httpx.ASGITransport(api.app), 0

        class FullAtFirst(httpx.AsyncBaseTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                nonlocal asked
                asked += 1
                if asked < 3:
                    return httpx.Response(503, headers={"Retry-After": "0"}, json={"code": "service_full"})
                return await app.handle_async_request(request)

        service = AsyncInkgateClient("http://inkgate.localhost", transport=FullAtFirst())
        reader = RemoteReader(service, policy=RetryPolicy(60.0, first_pause_s=0.01))
        tools = DocumentTools(reader, AllowedFiles((), 1_000_000))
        async with reader, Client(tools.server()) as client:
            said = text_of(await client.call_tool("read", {"document": DOCUMENT}))
    assert "1 of 1 pages were read" in said
    assert asked == 3
