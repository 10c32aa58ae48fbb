"""Runs `inkgate`. Imports the command that is called, not the others: each has slow imports of its own."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line; ends the process with its exit status."""
    called = sys.argv[1] if len(sys.argv) > 1 else ""
    if called == "--version":
        from inkgate import __version__

        print(f"inkgate {__version__}")
        sys.exit(0)
    from inkgate.cli.commands import is_command, run

    run([called] if is_command(called) else ())
    sys.exit(0)
