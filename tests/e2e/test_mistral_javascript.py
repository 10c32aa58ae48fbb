"""Mistral's own JavaScript client, unmodified: files are uploaded, listed, read and deleted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from support.images import encoded
from support.ppocr import drawn
from support.server import Server

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "support" / "mistral_files.mjs"
PACKAGE = ROOT / ".setup" / "npm" / "node_modules" / "@mistralai" / "mistralai"
INSTALL = "npm install --prefix .setup/npm --no-save --no-package-lock @mistralai/mistralai@2.7.0"
PDF = encoded(Image.fromarray(drawn(["Invoice number 20417"])).convert("L"), "PDF")


def test_files_are_uploaded_read_and_deleted(gateway: Server) -> None:
    node = shutil.which("node")
    if node is None or not PACKAGE.exists():
        missing = f"no node, or no client of Mistral here: `{INSTALL}` installs it"
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    done = subprocess.run(
        [node, str(SCRIPT), gateway.url, str(PACKAGE)], input=PDF, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert [told[name]["sizeBytes"] for name in ("uploaded", "kept")] == [len(PDF)] * 2
    assert told["uploaded"]["id"] in {file["id"] for file in told["listed"]["data"]}
    assert [page["markdown"] for page in told["byId"] + told["byUrl"]] == ["# Invoice number 20417"] * 2
    assert told["deleted"]["deleted"] is True
