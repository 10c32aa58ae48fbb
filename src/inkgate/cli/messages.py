"""Messages of the commands on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from inkgate.errors import CODES, EngineFailed, InputRejected
from inkgate.installation import install_extra
from inkgate_client.types import PageError, ReadError

FAILED = 1
MISUSE = 2
INTERRUPTED = 130  # 128 + SIGINT, as in shells


def remedy_here(code: str, remedy: str) -> str:
    """The remedy for an error code on the command line. `remedy`: the one for clients of the service."""
    return (code in CODES and CODES[code].command_line) or remedy


def _cause(error: BaseException) -> tuple[str, ...]:
    """What the error came from, in at most one line: for whoever runs the command, never for clients."""
    return (f"Cause: {' '.join(str(error.__cause__).split())}",) if error.__cause__ is not None else ()


def say(*lines: str) -> None:
    """Prints lines on standard error."""
    for line in lines:
        print(f"inkgate: {line}", file=sys.stderr)


def problem_of(name: str, error: Exception) -> str:
    """What went wrong with a document, here or in a service, and what to do."""
    if isinstance(error, OSError):
        return f"{error.filename or name}: {error.strerror or error}."
    if isinstance(error, ReadError) and error.code:
        return problem_line(name, PageError(error.code, error.detail, error.remedy), error.title)
    return f"{name}: {error}"


def problem_line(name: str, error: PageError, title: str) -> str:
    """What went wrong with a document or page, and what to do."""
    return f"{name}: {title}. {error.detail} {remedy_here(error.code, error.remedy)} ({error.code})"


def misuse(*lines: str) -> typer.Exit:
    """Prints what is wrong with the arguments; returns the exception to raise."""
    say(*lines)
    return typer.Exit(MISUSE)


def failure(*lines: str) -> typer.Exit:
    """Prints why the command failed; returns the exception to raise."""
    say(*lines)
    return typer.Exit(FAILED)


@contextmanager
def start_errors() -> Iterator[None]:
    """Context in which an engine starts: what went wrong ends the command with a message.

    Raises:
        typer.Exit: with status 2 for what the settings or arguments ask for, 1 if the engine did not start.
    """
    try:
        yield
    except InputRejected as error:
        raise misuse(f"{error.detail} {remedy_here(error.code, error.remedy)}") from error
    except EngineFailed as error:
        said = f"{error.title}. {error.detail} {remedy_here(error.code, error.remedy)}"
        raise failure(said, *_cause(error)) from error


@contextmanager
def needs_extra(extra: str, purpose: str = "") -> Iterator[None]:
    """Context for imports that an extra of inkgate provides: if one is missing, says how to install it and exits.

    `purpose`: what needs it, where that is not the whole command.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        needed = f", which {purpose} needs" if purpose else ""
        raise misuse(f"{error.name} is not installed{needed}: {install_extra(extra)}.") from error


def check_outputs(*files: Path) -> None:
    """Exits, before a long measurement, if its results can't be written to one of the files."""
    for file in files:
        place = next(each for each in (file, *file.absolute().parents) if each.exists())
        if place.is_dir() is (place == file):
            raise misuse(f"Can't write {file}: {place} is a {'folder' if place == file else 'file'}.")
        if not os.access(place, os.W_OK):
            raise misuse(f"Can't write {file}: this user may not write {place}. Choose another place with -o.")


@contextmanager
def writing_outputs() -> Iterator[None]:
    """Exits with a message if a file can't be written inside."""
    try:
        yield
    except OSError as error:
        raise failure(f"Can't write {error.filename or 'a file'}: {error.strerror}.") from error
