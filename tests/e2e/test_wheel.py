"""The wheel holds all that the package needs, and works where nothing of the repository is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from inkgate import __version__
from support.server import clean_environment

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_models_schema_types_and_licences_and_nothing_else_of_the_repository(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"inkgate-{__version__}.dist-info"
    assert names >= {
        "inkgate/py.typed",
        "inkgate/runtimes/weights/layout_cdla.onnx",
        "inkgate/runtimes/weights/page_orientation.onnx",
        "inkgate/runtimes/weights/table_slanet_plus.onnx",
        "inkgate/runtimes/weights/PP-OCRv6_rec_small.int8.json",
        "inkgate/runtimes/weights/PP-OCRv6_rec_tiny.int8.json",
        "inkgate/runtimes/weights/PP-OCRv6_rec_tiny.onnx",
        "inkgate/runtimes/weights/PP-OCRv6_det_tiny.onnx",
        "inkgate/runtimes/weights/recognition_doubt.npz",
        "inkgate/runtimes/weights/lone_glyphs.npz",
        "inkgate/runtimes/weights/NOTICE.md",
        "inkgate/cli/demo/samples/receipts/harbour-bakery.jpg",
        f"{info}/licenses/LICENSE",
        f"{info}/licenses/NOTICE",
    }
    assert {name.split("/")[0] for name in names} == {"inkgate", info}
    assert names & {"inkgate/guide/index.html", "inkgate/documentation/docs/index.md"}


def test_it_runs_outside_of_the_repository(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    ended = subprocess.run(
        [sys.executable, "-m", "inkgate", "--version"],
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=f"{tmp_path / 'installed'}:{ROOT / 'packages' / 'inkgate-client' / 'src'}"),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert ended.stdout.decode() == f"inkgate {__version__}\n"
