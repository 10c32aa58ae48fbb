"""A client generated from the OpenAPI document: the TypeScript example is compiled with its types and reads a page."""

from __future__ import annotations

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
SCRIPT = ROOT / "examples" / "clients" / "typescript" / "read.ts"
PACKAGES = ROOT / ".setup" / "npm" / "node_modules"
INSTALL = (
    "npm install --prefix .setup/npm --no-save --no-package-lock "
    "openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5 @types/node@20"
)
COMPILER = [
    "--strict",
    "--module",
    "nodenext",
    "--moduleResolution",
    "nodenext",
    "--target",
    "es2022",
    "--types",
    "node",
]


def test_the_typescript_example_is_compiled_and_reads(gateway: Server, tmp_path: Path) -> None:
    node = shutil.which("node")
    tools = [PACKAGES / "openapi-typescript" / "bin" / "cli.js", PACKAGES / "typescript" / "bin" / "tsc"]
    if node is None or not all(tool.exists() for tool in tools):
        missing = f"no node, or no compiler of TypeScript here: `{INSTALL}` installs it"
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    generator, compiler = map(str, tools)
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "page.png").write_bytes(encoded(Image.fromarray(drawn(["Invoice number 20417"])), "PNG"))
    (tmp_path / "notes.txt").write_text("no image", encoding="utf-8")
    shutil.copy(SCRIPT, tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [node, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    generated = run(generator, f"{gateway.url}/openapi.json", "-o", "inkgate.d.ts")
    assert generated.returncode == 0, generated.stderr
    compiled = run(compiler, *COMPILER, "read.ts")
    assert compiled.returncode == 0, compiled.stdout
    read = run("read.js", "page.png", gateway.url)
    assert read.returncode == 0, read.stderr
    assert "Invoice number 20417" in read.stdout
    refused = run("read.js", "notes.txt", gateway.url)
    assert (refused.returncode, "415 type_unsupported" in refused.stderr) == (1, True)
