"""The tools for agents, where a service reads."""

from __future__ import annotations

import base64

import httpx
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult, TextContent

from inkgate.client import AsyncInkgateClient
from inkgate.integrations.mcp.files import AllowedFiles
from inkgate.integrations.mcp.readers import ServiceToolReader
from inkgate.integrations.mcp.tools import DocumentTools
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
        tools = DocumentTools(ServiceToolReader(service), AllowedFiles((), 1_000_000))
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
