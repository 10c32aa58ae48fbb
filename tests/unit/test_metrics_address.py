"""An address for /metrics that can't be used is reported before models are loaded."""

from __future__ import annotations

import socket

import pytest
import typer

from inkgate.cli.serve import check_metrics_address
from inkgate.settings import USUAL_METRICS_PORT, Settings, load_settings


def settings_of(**metrics: object) -> Settings:
    return load_settings(None, metrics=metrics)


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(typer.Exit) as ended:
            check_metrics_address(settings_of(port=port))
    assert ended.value.exit_code == 1
    assert f"port {port}" in (said := capsys.readouterr().err)
    assert "metrics.port" in said


def test_it_can_not_be_that_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        check_metrics_address(settings_of(port=7860))
    assert ended.value.exit_code == 2
    assert "server.port and metrics.port are both 7860" in capsys.readouterr().err


@pytest.mark.parametrize(
    "metrics", [{"port": 0}, {"port": USUAL_METRICS_PORT}, {"enabled": False, "port": 7860}], ids=str
)
def test_all_else_is_fine(metrics: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    check_metrics_address(settings_of(**metrics))
    assert capsys.readouterr().err == ""
