"""What the commands say besides their results: on standard error, one plain line a fact."""

from __future__ import annotations

import sys

import typer

FAILED = 1
MISUSE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it

_REMEDIES = {
    "engine_unknown": "Name one of them with --engine, or as engine.name in the settings.",
    "engine_unavailable": "Try again; `inkgate serve` with the same settings says more in its log.",
    "engine_failed": "Try again; report it if it stays.",
    "internal": "Try again; report it if it stays.",
    "pdf_encrypted": "Give it with --password, or remove the encryption.",
    "pdf_password_wrong": "Give the password that a viewer opens the file with, with --password.",
}
"""Where what a client of the service should do isn't what a person at the command line can do."""


def remedy_here(code: str, remedy: str) -> str:
    """What to do about an error of the code at the command line; `remedy`: what a client of the service should do."""
    return _REMEDIES.get(code, remedy)


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
