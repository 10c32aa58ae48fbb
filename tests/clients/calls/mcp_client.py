"""The MCP client starts `inkgate mcp`, lists its tools and reads a page by the service."""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    environment = {"INKGATE_API_KEY": os.environ["INKGATE_KEY"], "PYTHONPATH": os.environ["INKGATE_PATH"]}
    server = StdioServerParameters(
        command=os.environ["INKGATE_PYTHON"],
        args=["-m", "inkgate", "mcp", "--server", os.environ["INKGATE_URL"], "--folder", os.environ["DOCUMENTS"]],
        env=environment | {"HOME": os.environ["HOME"]},
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        document = str(Path(os.environ["DOCUMENTS"], "three.pdf"))
        answer = await session.call_tool("read", {"document": document})
        text = "".join(part.text for part in answer.content if part.type == "text")
        assert {"read", "extract", "search"} <= set(tools)
        assert "Rainfall by station" in text, text
        print(json.dumps({"tools": tools, "characters": len(text)}))


asyncio.run(main())
sys.stdout.flush()
