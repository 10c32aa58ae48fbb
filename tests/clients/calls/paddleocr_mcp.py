"""PaddleOCR's MCP server calls PaddleX's `/ocr` and `/layout-parsing`, and its job API, for an agent."""

import asyncio
import json
import os
import sys
from pathlib import Path

from fastmcp import Client

url = os.environ["INKGATE_URL"]
HOSTED = {"PADDLEOCR_MCP_PPOCR_SOURCE": "self_hosted", "PADDLEOCR_MCP_SELF_HOSTED_BASE_URL": url}
JOBS = {
    "PADDLEOCR_MCP_PPOCR_SOURCE": "aistudio",
    "PADDLEOCR_MCP_AISTUDIO_BASE_URL": url,
    "PADDLEOCR_MCP_AISTUDIO_ACCESS_TOKEN": os.environ["INKGATE_KEY"],
}


async def call(model: str, tool: str, source: dict[str, str]) -> list[str]:
    """The texts of the tool's answer, and the type of what else is in it."""
    environment = {**os.environ, **source, "PADDLEOCR_MCP_MODEL": model}
    program = str(Path(sys.executable).with_name("paddleocr_mcp"))
    server = {"command": program, "args": [], "env": environment}
    async with Client({"mcpServers": {"paddleocr": server}}) as client:
        document = str(Path(os.environ["DOCUMENTS"]) / "three.pdf")
        answer = await client.call_tool(tool, {"input_data": document, "output_mode": "simple"})
    return [getattr(part, "text", part.type) for part in answer.content]


async def main() -> None:
    (lines,) = await call("PP-OCRv6", "ocr", HOSTED)
    assert "Rainfall by station" in lines, lines
    for model, tool, source in (
        ("PP-StructureV3", "pp_structurev3", HOSTED),
        ("PaddleOCR-VL-1.6", "paddleocr_vl", HOSTED),
        ("PaddleOCR-VL-1.6", "paddleocr_vl", JOBS),
    ):
        parts = await call(model, tool, source)
        text = "\n".join(parts)
        assert [part for part in parts if part == "image"] == ["image"] * 3, parts
        assert all(title in text for title in ("# Survey of the northern hills", "| Algeria | 120 | 310 |")), text
    print(json.dumps({"lines": len(lines.splitlines()), "parts": len(parts)}))


asyncio.run(main())
