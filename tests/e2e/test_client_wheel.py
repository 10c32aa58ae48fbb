"""The wheel of the client alone holds what it imports, needs no engine, and reads from a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Collection
from pathlib import Path

import pytest

from inkgate import __version__
from support.api_client import png
from support.server import Server, clean_environment

ROOT = Path(__file__).parents[2]
NEED_MORE = {f"inkgate_client.{name}" for name in ("formats.alto", "formats.areas", "formats.hocr", "llamaindex")}
"""They need NumPy."""
BLOCKED = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
NOT_CLIENTS = {"inkgate", "numpy", "onnxruntime", "fastapi", "typer", "cv2", "PIL", "structlog", "sqlalchemy"}


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    project = ROOT / "packages" / "inkgate-client"
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


def run(wheel: Path, code: str, blocked: Collection[str] = NOT_CLIENTS) -> str:
    """What `code` prints, with the wheel before all other places of modules, where `blocked` can't be imported."""
    begin = f"{BLOCKED.format(packages=set(blocked))}\nsys.path.insert(0, {str(wheel)!r})\n"
    command = [sys.executable, "-c", begin + code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_holds_its_package_and_no_file_of_another(client_wheel: Path) -> None:
    with zipfile.ZipFile(client_wheel) as archive:
        names = set(archive.namelist())
    info = f"inkgate_client-{__version__}.dist-info"
    needed = {"inkgate_client/py.typed", "inkgate_client/formats/schema.json"}
    assert names >= needed | {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"}
    assert {name.split("/")[0] for name in names} == {"inkgate_client", info}


def test_all_of_it_is_imported_without_the_service(client_wheel: Path) -> None:
    with zipfile.ZipFile(client_wheel) as archive:
        files = [name for name in archive.namelist() if name.endswith(".py")]
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    alone = sorted(modules - NEED_MORE)
    loaded = json.loads(run(client_wheel, f"import {', '.join(alone)}, json\nprint(json.dumps(list(sys.modules)))"))
    assert "inkgate" not in loaded
    assert set(alone) <= set(loaded)


def test_importing_it_loads_only_what_imports_the_others(client_wheel: Path) -> None:
    loaded = json.loads(run(client_wheel, "import inkgate_client, json\nprint(json.dumps(list(sys.modules)))"))
    assert [name for name in loaded if name.startswith("inkgate_client.")] == ["inkgate_client.lazy"]


def test_its_packages_bring_no_engine(client_wheel: Path) -> None:
    with zipfile.ZipFile(client_wheel) as archive:
        metadata = archive.read(f"inkgate_client-{__version__}.dist-info/METADATA").decode()
    named = {name.lower() for name in re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)}
    assert named == {"anyio", "httpx", "orjson", "pydantic"}


def test_its_loaders_read_by_a_server_and_say_so(client_wheel: Path, server: Server) -> None:
    code = f"""
from inkgate_client.langchain import InkgateLoader
from inkgate_client.llamaindex import InkgateReader

[document] = InkgateLoader({png()!r}, server={server.url!r}).load()
[same] = InkgateReader(server={server.url!r}).load_data({png()!r})
assert document.page_content == same.text
try:
    InkgateLoader({png()!r}).load()
except ImportError as error:
    print(error)
"""
    assert "has no engine. Give the URL of a service" in run(client_wheel, code, blocked={"inkgate"})


def test_six_lines_read_a_page_from_a_server(client_wheel: Path, server: Server, tmp_path: Path) -> None:
    (tmp_path / "page.png").write_bytes(png())
    code = f"""
from inkgate_client import InkgateClient

with InkgateClient({server.url!r}) as client:
    document = client.read({str(tmp_path / "page.png")!r})
    print(document.markdown)
    document.save({str(tmp_path / "page.pdf")!r})
"""
    run(client_wheel, code)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
