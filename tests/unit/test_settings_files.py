"""Settings from files that the environment names, and from systemd's credentials."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from inkgate.cli.configure import configured
from inkgate.settings import SettingFileError, load_settings

HASHES = ("a" * 64, "b" * 64)


def test_a_variable_may_name_a_file_with_the_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text(f"# of the web shop\n{HASHES[0]}\n\n{HASHES[1]}\n")
    (tmp_path / "url").write_text("redis://:secret@host:6379\n")
    (tmp_path / "json").write_text('["a.example"]')
    monkeypatch.setenv("INKGATE_AUTH__KEY_HASHES_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("INKGATE_CACHE__REDIS_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("INKGATE_SERVER__ALLOWED_HOSTS_FILE", str(tmp_path / "json"))
    settings = configured(None)
    assert settings.auth.key_hashes == HASHES
    assert settings.cache.redis_url.get_secret_value() == "redis://:secret@host:6379"
    assert settings.server.allowed_hosts == ("a.example",)


def test_credentials_are_named_as_settings_and_others_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inkgate.auth.key_hashes").write_text(HASHES[0])
    (tmp_path / "tls-key").write_text("of another")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert load_settings().auth.key_hashes == HASHES[:1]
    (tmp_path / "inkgate.auth.keys").write_text("x")
    with pytest.raises(SettingFileError, match=r"inkgate\.auth\.keys names no setting"):
        load_settings()


def test_mistakes_name_the_variable_and_never_the_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2 {")
    cases = {
        "INKGATE_AUTH__KEY_HASHES_FILE": (secret, "64 hexadecimal digits"),
        "INKGATE_SINKS_FILE": (secret, "not valid JSON"),
        "INKGATE_CACHE__SECRET_FILE": (tmp_path / "none", "No such file"),
        "INKGATE_CACHE__SECERT_FILE": (secret, "is not a setting"),
    }
    for name, (path, reason) in cases.items():
        with monkeypatch.context() as patch:
            patch.setenv(name, str(path))
            with pytest.raises(typer.Exit):
                configured(None)
        said = capsys.readouterr().err
        assert reason in said, name
        assert "hunter2" not in said, name


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("# none yet\n\n", "is empty"),
        (f"{HASHES[0]}\n" * 20_000, "is too large"),
    ],
)
def test_a_file_without_the_secret_or_with_too_much_starts_no_service(
    content: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text(content)
    monkeypatch.setenv("INKGATE_AUTH__KEY_HASHES_FILE", str(tmp_path / "secret"))
    with pytest.raises(SettingFileError, match=reason):
        load_settings()


def test_a_setting_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "port").write_text("8000")
    monkeypatch.setenv("INKGATE_SERVER__PORT_FILE", str(tmp_path / "port"))
    assert load_settings().server.port == 8000
    monkeypatch.setenv("INKGATE_SERVER__PORT", "8001")
    with pytest.raises(SettingFileError, match="Remove one of them"):
        load_settings()
