"""Settings come from defaults, a file, the environment and flags, in that order, and typing errors are found."""

from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

from inkgate.cli.configure import setting_fields
from inkgate.settings import PdfText, Settings, load_settings


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
    with pytest.raises(ValidationError, match=r"engine\.vllm\.api_key and the user and password in engine\.vllm\.urls"):
        load_settings(engine={"vllm": {"urls": urls, "api_key": "k"}})
    assert load_settings(engine={"vllm": {"urls": urls}}).engine.vllm.urls == tuple(urls)
    assert load_settings(engine={"vllm": {"urls": urls[:1], "api_key": "k"}}).engine.vllm.api_key.get_secret_value()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_settings(tmp_path / "nowhere.toml")


def test_the_tree_is_frozen() -> None:
    with pytest.raises(ValidationError):
        load_settings().server.port = 1  # type: ignore[misc]  # what is tested


def nested(path: tuple[str, ...], value: object) -> dict[str, object]:
    branch: dict[str, object] = {path[-1]: value}
    for name in reversed(path[1:-1]):
        branch = {name: branch}
    return branch


def test_no_number_may_be_infinite_unknown_or_absurd() -> None:
    numbers = [path for path, field in setting_fields() if field.annotation in {int, float}]
    assert len(numbers) > 60
    accepted = []
    for path in numbers:
        for value in (float("inf"), float("nan"), 10**23, 1e23, -(10**23)):
            try:
                load_settings(**{path[0]: nested(path, value)})
                accepted.append((path, value))
            except ValidationError:
                pass
    assert accepted == []


@pytest.mark.parametrize("above", ["server = 5\n", "[engine]\nppocr = 'x'\n"])
def test_a_plain_value_in_place_of_a_table_is_no_less_wrong_beside_a_flag(tmp_path: Path, above: str) -> None:
    file = tmp_path / "inkgate.toml"
    file.write_text(above)
    with pytest.raises(ValidationError, match="this is a table of settings"):
        load_settings(file, server={"port": 1}, engine={"ppocr": {"threads": 1}})


@pytest.mark.parametrize("given", ["abc", "g" * 64, "a" * 63, "a" * 65, "inkgate_key"])
def test_what_is_the_hash_of_no_key_is_refused(given: str) -> None:
    with pytest.raises(ValidationError):
        load_settings(auth={"key_hashes": [given]})
    assert load_settings(auth={"key_hashes": ["AB" * 32]}).auth.key_hashes == ("ab" * 32,)


@pytest.mark.parametrize("per_key", ["often", "60", "60/fortnight", "/minute", "-1/minute"])
def test_what_is_no_rate_is_refused(per_key: str) -> None:
    with pytest.raises(ValidationError, match="60/minute"):
        load_settings(rate_limit={"per_key": per_key})


@pytest.mark.parametrize(
    "url", ["", "redis", "redis://", "http://h:1", "memory", "redis://h:x", "redis://h:70000", "redis://h/x"]
)
def test_what_leads_to_no_redis_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="redis://host:6379"):
        load_settings(rate_limit={"storage_url": url})
    if url:
        with pytest.raises(ValidationError, match="redis://host:6379"):
            load_settings(cache={"redis_url": url})


@pytest.mark.parametrize(
    "rest", ["h", "h:6379", "h:6379/0", "me:secret@h:6379/1", "[::1]:6379", "h:1/0?socket_timeout=1"]
)
def test_what_leads_to_a_redis_is_taken(rest: str) -> None:
    for scheme in ("redis", "rediss"):
        load_settings(rate_limit={"storage_url": f"{scheme}://{rest}"}, cache={"redis_url": f"{scheme}://{rest}"})
    load_settings(rate_limit={"storage_url": "redis+unix:///run/redis.sock"}, cache={"redis_url": "unix:///run/r.sock"})


def test_the_base_of_links_fits_in_a_header() -> None:
    fits = [
        "",
        "http://h",
        "https://docs.example.com:8443/inkgate/",
        "http://[::1]:7860/docs/guide",
        "https://h/a%20b/",
    ]
    refused = [
        "h/docs",
        "ftp://h/",
        "https://",
        "https://例え.jp/",
        "https://h/a b",
        "https://h/>",
        "https://h/\r\nX: 1",
    ]
    refused += ["https://h/\n", "https://h/?page=", "https://h/#top"]
    for url in fits:
        assert load_settings(docs={"url": url}).docs.url == url
    taken = []
    for url in refused:
        with suppress(ValidationError):
            load_settings(docs={"url": url})
            taken.append(url)
    assert taken == []


def test_managed_servers_do_not_take_a_port_of_inkgate_itself() -> None:
    def settings(port: int, replicas: int) -> Settings:
        return Settings.model_validate({"engine": {"vllm": {"managed": {"port": port, "replicas": replicas}}}})

    with pytest.raises(ValidationError, match=r"server\.port 7860"):
        settings(7859, 2)
    with pytest.raises(ValidationError, match=r"metrics\.port 8001"):
        settings(8000, 2)
    assert settings(8000, 1).engine.vllm.managed.port == 8000
