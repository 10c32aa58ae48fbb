"""The files of the web page: what their policies allow, and Mermaid, which is kept compressed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

import httpx
import pytest

from inkgate.ui.site import FRAME, POLICY, PageSite

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


async def got(path: str, encoding: str = "gzip") -> httpx.Response:
    transport = httpx.ASGITransport(PageSite("/ui"))
    async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost") as client:
        return await client.get(f"/ui/{path}", headers={"Accept-Encoding": encoding})


async def test_the_frame_of_diagrams_runs_its_own_script_and_loads_nothing() -> None:
    frame = await got(FRAME)
    policy = frame.headers["content-security-policy"]
    script = re.findall(r"<script>(.*?)</script>", frame.text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}' blob:;" in policy
    assert "default-src 'none'" in policy
    assert policy.endswith("sandbox allow-scripts")
    for path in ("", "main.js", "diagrams.js"):
        assert (await got(path)).headers["content-security-policy"] == POLICY


async def test_mermaid_is_sent_compressed_or_plain_and_has_the_version_of_the_notice() -> None:
    packed, plain = await got("diagram/mermaid.js"), await got("diagram/mermaid.js", "identity")
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    stored = ROOT / "src" / "inkgate" / "ui" / "assets" / "diagram" / "mermaid.js.gz"
    assert plain.content == gzip.decompress(stored.read_bytes())
    named = re.search(r"Mermaid (\d+\.\d+\.\d+) for browsers", (ROOT / "NOTICE").read_text())
    assert named is not None
    assert f'"{named[1]}"'.encode() in plain.content
    assert (await got("diagram/mermaid.js.gz")).status_code == 404
