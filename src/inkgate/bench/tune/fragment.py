"""Settings as a piece of `inkgate.toml`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from inkgate.bench.tune.results import Settings, Value


def toml(settings: Settings, comments: Sequence[str] = ()) -> str:
    """Tables in the order of their names, after the comments; "" of no settings."""
    tables: dict[str, list[str]] = {}
    for path in sorted(settings):
        table, _, name = path.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {_scalar(settings[path])}")
    if not tables:
        return ""
    parts = ["\n".join(f"# {line}" for text in comments for line in text.splitlines())] if comments else []
    parts += ["\n".join([f"[{table}]", *lines]) for table, lines in sorted(tables.items())]
    return "\n\n".join(parts) + "\n"


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):  # TOML's basic strings are JSON's, but for the one control character that JSON lets be
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
