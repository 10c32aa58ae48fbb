"""The settings without secrets, for display."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from inkgate.settings import Settings

MASK = "**********"
_SECRET_FLAG = re.compile(r"(?i)key|token(?![a-z])|secret|password|auth")
"""Flags that may carry a secret, but not `--tokenizer` or `--max-num-batched-tokens`."""
_USER = re.compile(r"(\w://)[^/?#\s]*@")
_QUERY = re.compile(r"(\w://[^?\s]*\?)\S*")


def shown_settings(settings: Settings) -> dict[str, Any]:
    """All settings as JSON values. Masked: keys, their hashes, passwords in addresses, vLLM's environment."""
    shown: dict[str, Any] = settings.model_dump(mode="json")
    shown["auth"]["key_hashes"] = [MASK] * len(settings.auth.key_hashes)
    managed = shown["engine"]["vllm"]["managed"]
    managed["environment"] = dict.fromkeys(managed["environment"], MASK)
    managed["extra_flags"] = shown_flags(managed["extra_flags"])
    masked = _masked(shown)
    return masked if isinstance(masked, dict) else {}


def shown_flags(flags: Iterable[str]) -> list[str]:
    """A command line; values of flags whose names suggest a key or a password are masked."""
    shown: list[str] = []
    secret = False
    for word in flags:
        name, equals, _ = word.partition("=")
        if word.startswith("-"):
            secret = _SECRET_FLAG.search(name) is not None
            shown.append(f"{name}={MASK}" if secret and equals else without_password(word))
        else:
            shown.append(MASK if secret else without_password(word))
    return shown


def without_password(text: str) -> str:
    """Masks user, password and query of the addresses in `text`."""
    return _QUERY.sub(rf"\1{MASK}", _USER.sub(rf"\1{MASK}@", text))


def _masked(value: object) -> object:
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, Mapping):
        return {key: _masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return value
