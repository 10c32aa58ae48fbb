"""What the commands say besides their results: on standard error, one plain line a fact."""

from __future__ import annotations

import sys

import typer

FAILED = 1
MISUSE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def say(*lines: str) -> None:
    """Prints lines on standard error."""
    for line in lines:
        print(f"inkgate: {line}", file=sys.stderr)


def misuse(*lines: str) -> typer.Exit:
    """The exit to raise where the command was called wrongly, after saying what is wrong."""
    say(*lines)
    return typer.Exit(MISUSE)


def failure(*lines: str) -> typer.Exit:
    """The exit to raise where the command was right and could not be done, after saying why."""
    say(*lines)
    return typer.Exit(FAILED)
