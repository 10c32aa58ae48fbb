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
LAZY = {"alto", "areas", "hocr"}
"""Modules of formats that need NumPy. `render` imports them where it is installed."""
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


def run(wheel: Path, code: str) -> str:
    """What `code` prints, with the wheel before all other places of modules."""
    begin = f"{BLOCKED}\nsys.path.insert(0, {str(wheel)!r})\n"
    command = [sys.executable, "-c", begin + code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_holds_what_it_imports_and_nothing_else(client_wheel: Path) -> None:
    loaded = json.loads(run(client_wheel, "import inkgate.client, json\nprint(json.dumps(sorted(sys.modules)))"))
    ours = {name for name in loaded if name.split(".")[0] == "inkgate"}
    with zipfile.ZipFile(client_wheel) as archive:
        names = set(archive.namelist())
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names if name.endswith(".py")
    }
    assert modules - {f"inkgate.documents.formats.{name}" for name in LAZY} == ours
    info = f"inkgate_client-{__version__}.dist-info"
    assert names >= {"inkgate/py.typed", f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"}
    assert {name.split("/")[0] for name in names} == {"inkgate", info}


def test_its_packages_bring_no_engine(client_wheel: Path) -> None:
    with zipfile.ZipFile(client_wheel) as archive:
        metadata = archive.read(f"inkgate_client-{__version__}.dist-info/METADATA").decode()
    named = {name.lower() for name in re.findall(r"^Requires-Dist: ([\w-]+)", metadata, re.MULTILINE)}
    assert named == {"anyio", "httpx", "orjson", "pydantic"}


def test_what_only_inkgate_has_is_told_so(client_wheel: Path) -> None:
    code = "import inkgate\ntry:\n    inkgate.read\nexcept ImportError as error:\n    print(error)"
    assert "not in inkgate-client" in run(client_wheel, code)


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
