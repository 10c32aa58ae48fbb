"""Settings are shown without secrets."""

from __future__ import annotations

import json

from inkgate.settings import Settings, load_settings
from inkgate.settings.shown import MASK, shown_flags, shown_settings, without_password

HASH = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
SETTINGS: dict[str, dict[str, object]] = {
    "auth": {"key_hashes": [HASH, HASH[::-1]]},
    "rate_limit": {"per_key": "60/minute", "storage_url": "redis://limits:opensesame@cache:6379"},
    "cache": {"redis_url": "redis://:opensesame@cache:6379/0"},
    "engine": {
        "name": "paddleocr-vl",
        "vllm": {
            "urls": ["http://admin:opensesame@10.0.0.1:8000/v1", "http://10.0.0.2:8000/v1?key=opensesame"],
            "managed": {
                "environment": {"HF_TOKEN": "opensesame"},
                "extra_flags": ["--hf-token", "opensesame", "--block-size", "32"],
            },
        },
    },
}


def test_no_secret_is_in_them() -> None:
    text = json.dumps(shown_settings(load_settings(None, **SETTINGS)))
    assert "opensesame" not in text
    assert HASH not in text
    assert HASH[::-1] not in text


def test_a_model_server_s_key_is_not_in_them() -> None:
    keyed = load_settings(None, engine={"vllm": {"urls": ["http://10.0.0.1:8000/v1"], "api_key": "opensesame"}})
    assert "opensesame" not in json.dumps(shown_settings(keyed))


def test_what_is_no_secret_is_in_them() -> None:
    shown = shown_settings(load_settings(None, **SETTINGS))
    vllm = shown["engine"]["vllm"]
    assert shown["auth"]["key_hashes"] == [MASK, MASK]
    assert shown["rate_limit"] == {"per_key": "60/minute", "storage_url": f"redis://{MASK}@cache:6379"}
    assert vllm["urls"] == [f"http://{MASK}@10.0.0.1:8000/v1", f"http://10.0.0.2:8000/v1?{MASK}"]
    assert vllm["managed"]["environment"] == {"HF_TOKEN": MASK}
    assert vllm["managed"]["extra_flags"] == ["--hf-token", MASK, "--block-size", "32"]


def test_all_settings_are_there() -> None:
    assert shown_settings(Settings()) == Settings().model_dump(mode="json")


def test_flags_that_sound_like_secrets_are_masked() -> None:
    cases = [
        (
            ["--model", "/weights", "--served-model-name", "tiny"],
            ["--model", "/weights", "--served-model-name", "tiny"],
        ),
        (["--hf-token=abc", "--seed", "1"], [f"--hf-token={MASK}", "--seed", "1"]),
        (["--api-key", "a", "b", "--seed"], ["--api-key", MASK, MASK, "--seed"]),
        (["--tokenizer", "t"], ["--tokenizer", "t"]),
        (["--url", "http://u:p@host/v1"], ["--url", f"http://{MASK}@host/v1"]),
        (["--url=http://u:p@host/v1"], [f"--url=http://{MASK}@host/v1"]),
    ]
    assert [(flags, found) for flags, shown in cases if (found := shown_flags(flags)) != shown] == []


def test_addresses_lose_user_and_password() -> None:
    cases = [
        ("http://host:1/v1", "http://host:1/v1"),
        ("an @ sign: a://b", "an @ sign: a://b"),
        ("redis://user@host", f"redis://{MASK}@host"),
        ("redis://u:p@ss@host", f"redis://{MASK}@host"),
        ("http://host/v1@2", "http://host/v1@2"),
    ]
    assert [(text, found) for text, shown in cases if (found := without_password(text)) != shown] == []
