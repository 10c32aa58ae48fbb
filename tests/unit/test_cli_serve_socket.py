"""`inkgate serve` with a socket that systemd passed."""

from __future__ import annotations

import socket

import pytest
import typer

from inkgate.cli import serve as command
from inkgate.settings import Settings
from inkgate.systemd import ServiceManager, UnusableSocket


def test_its_address_replaces_the_settings_and_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Settings] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        manager = ServiceManager(listener=listener)
        monkeypatch.setattr(command, "service_manager", lambda: manager)
        monkeypatch.setattr(command, "_run", lambda settings, _: served.append(settings))
        command.serve(host="192.0.2.1", port=1)  # an address that this machine does not have
        assert (served[0].server.host, served[0].server.port) == listener.getsockname()


def test_a_socket_open_to_the_network_needs_a_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104 - what is tested
        manager = ServiceManager(listener=listener)
        monkeypatch.setattr(command, "service_manager", lambda: manager)
        with pytest.raises(typer.Exit):
            command.serve()
    assert "no API key is set" in capsys.readouterr().err


def test_a_socket_that_cannot_be_used_ends_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def manager() -> ServiceManager:
        raise UnusableSocket("2 sockets were passed.")

    monkeypatch.setattr(command, "service_manager", manager)
    with pytest.raises(typer.Exit):
        command.serve()
    assert "From systemd: 2 sockets were passed." in capsys.readouterr().err
