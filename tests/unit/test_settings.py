"""Settings come from defaults, a file, the environment and flags, in that order, and typing errors are found."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from inkgate.settings import PdfText, load_settings


def test_later_sources_win_and_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "inkgate.toml"
    file.write_text('[server]\nport = 1\nhost = "0.0.0.0"\ndrain_s = 5\n[pdf]\ntext = "never"\n')
    monkeypatch.setenv("INKGATE_SERVER__PORT", "2")  # the environment is the interface under test
    settings = load_settings(file, server={"drain_s": 7})
    assert (settings.server.host, settings.server.port, settings.server.drain_s) == ("0.0.0.0", 2, 7)  # noqa: S104 - never bound
    assert settings.pdf.text is PdfText.NEVER
    assert settings.limits.page_window == load_settings().limits.page_window


@pytest.mark.parametrize(
    "flags", [{"server": {"prot": 1}}, {"sever": {}}, {"server": {"port": -1}}, {"limits": {"max_body_mb": 0}}]
)
def test_unknown_names_and_impossible_values_are_errors(flags: dict[str, dict[str, object]]) -> None:
    with pytest.raises(ValidationError):
        load_settings(**flags)


def test_a_model_server_is_told_one_key_and_not_two() -> None:
    urls = ["http://a:8000/v1", "http://me:secret@b:8000/v1"]
    with pytest.raises(ValidationError, match=r"engine\.vllm\.api_key and a user and password in engine\.vllm\.urls"):
        load_settings(engine={"vllm": {"urls": urls, "api_key": "k"}})
    assert load_settings(engine={"vllm": {"urls": urls}}).engine.vllm.urls == tuple(urls)
    assert load_settings(engine={"vllm": {"urls": urls[:1], "api_key": "k"}}).engine.vllm.api_key.get_secret_value()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_settings(tmp_path / "nowhere.toml")


def test_the_tree_is_frozen() -> None:
    with pytest.raises(ValidationError):
        load_settings().server.port = 1  # type: ignore[misc]  # what is tested
