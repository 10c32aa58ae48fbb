"""The whole command line, with every command."""

from __future__ import annotations

from inkgate.cli.commands import build

app = build()
