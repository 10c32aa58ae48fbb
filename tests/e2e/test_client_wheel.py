"""The wheel of the client alone holds what it imports, needs no engine, and reads from a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from inkgate import __version__
from support.api_client import png
from support.server import Server, clean_environment

ROOT = Path(__file__).parents[2]
LAZY = {f"inkgate.documents.formats.{name}" for name in ("alto", "areas", "hocr")}
"""They need NumPy. `render` imports them where it is installed."""
LANGCHAIN = "inkgate.client, inkgate.integrations.langchain"
LLAMAINDEX = "inkgate.integrations.llamaindex"
"""What it stands on needs NumPy."""
BLOCKED = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numpy", "onnxruntime", "fastapi", "typer", "cv2", "PIL", "structlog", "sqlalchemy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    project = ROOT / "packaging" / "client"
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


def run(wheel: Path, code: str, blocked: str = BLOCKED) -> str:
    """What `code` prints, with the wheel before all other places of modules."""
    begin = f"{blocked}\nsys.path.insert(0, {str(wheel)!r})\n"
    command = [sys.executable, "-c", begin + code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_holds_what_it_imports_and_nothing_else(client_wheel: Path) -> None:
    loaded = json.loads(run(client_wheel, f"import {LANGCHAIN}, json\nprint(json.dumps(sorted(sys.modules)))"))
    ours = {name for name in loaded if name.split(".")[0] == "inkgate"}
    with zipfile.ZipFile(client_wheel) as archive:
        names = set(archive.namelist())
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names if name.endswith(".py")
    }
    assert modules - LAZY - {LLAMAINDEX} == ours
    info = f"inkgate_client-{__version__}.dist-info"
    assert names >= {"inkgate/py.typed", f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"}
    assert {name.split("/")[0] for name in names} == {"inkgate", info}


def test_its_packages_bring_no_engine(client_wheel: Path) -> None:
    with zipfile.ZipFile(client_wheel) as archive:
        metadata = archive.read(f"inkgate_client-{__version__}.dist-info/METADATA").decode()
    named = {name.lower() for name in re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)}
    assert named == {"anyio", "httpx", "orjson", "pydantic"}


def test_what_only_inkgate_has_is_told_so(client_wheel: Path) -> None:
    code = "import inkgate\ntry:\n    inkgate.read\nexcept ImportError as error:\n    print(error)"
    assert "not in inkgate-client" in run(client_wheel, code)


def test_its_loaders_read_by_a_server_and_say_so(client_wheel: Path, server: Server) -> None:
    code = f"""
from inkgate.integrations.langchain import InkgateLoader
from inkgate.integrations.llamaindex import InkgateReader

[document] = InkgateLoader({png()!r}, server={server.url!r}).load()
[same] = InkgateReader(server={server.url!r}).load_data({png()!r})
assert document.page_content == same.text
try:
    InkgateLoader({png()!r}).load()
except ImportError as error:
    print(error)
"""
    assert "has no engine. Give the URL of a service" in run(client_wheel, code, blocked="import sys")


def test_six_lines_read_a_page_from_a_server(client_wheel: Path, server: Server, tmp_path: Path) -> None:
    (tmp_path / "page.png").write_bytes(png())
    code = f"""
from inkgate.client import InkgateClient

with InkgateClient({server.url!r}) as client:
    document = client.read({str(tmp_path / "page.png")!r})
    print(document.markdown)
    document.save({str(tmp_path / "page.pdf")!r})
"""
    run(client_wheel, code)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
