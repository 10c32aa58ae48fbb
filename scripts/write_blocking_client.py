"""Writes packages/inkgate-client/src/inkgate_client/blocking*.py from awaited*.py. Run it after changing one of these.

python scripts/write_blocking_client.py [--check]
"""

from __future__ import annotations

import re
import subprocess
import sys

from generated import ROOT, write_or_check

CLIENT = ROOT / "packages" / "inkgate-client" / "src" / "inkgate_client"
NAMES = {
    "awaited": "blocking",
    "awaited_calls": "blocking_calls",
    "awaited_documents": "blocking_documents",
    "awaited_jobs": "blocking_jobs",
}
_DOCSTRING = '"""The blocking client. Written by scripts/write_blocking_client.py from {}.py: change it there."""'
_WORDS = NAMES | {
    "AsyncBaseTransport": "BaseTransport",
    "AsyncCalls": "Calls",
    "AsyncClient": "Client",
    "AsyncClientDocument": "ClientDocument",
    "AsyncInkgateClient": "InkgateClient",
    "AsyncIterator": "Iterator",
    "AsyncJobHandle": "JobHandle",
    "AsyncJobPages": "JobPages",
    "AsyncJobs": "Jobs",
    "AsyncPages": "Pages",
    "AsyncSourceOf": "SourceOf",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "asynccontextmanager": "contextmanager",
    "pause_awaited": "pause",
    "run_awaited": "run",
}


def to_blocking(name: str) -> str:
    """The text of a module of coroutines as functions. Code and docstrings change alike; `Threads` become calls."""
    source = (CLIENT / f"{name}.py").read_text(encoding="utf-8")
    text = re.sub(r'^""".*?"""', "", source, count=1, flags=re.DOTALL)
    text = re.sub(r"^ +self\._threads = Threads\(.*\)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"await self\._threads\.run\((\w+), ", r"\1(", text)
    text = re.sub(r"\(await (.+?\))\)\.", r"\1.", text)  # (await f()).x: without parentheses
    text = re.sub(r"\b(async|await) ", "", text)
    text = text.replace("many.read_many(", "many.read_many_blocking(")
    text = re.sub(r"\w+", lambda word: _WORDS.get(word[0], word[0]), text)
    left = sorted(set(re.findall(r"\w*(?:[Aa]sync|await\b|anyio|_threads)\w*", text)))
    if left:
        sys.exit(f"{name}.py has names without a blocking counterpart here: {', '.join(left)}")
    return _formatted(_DOCSTRING.format(name) + text, NAMES[name])


def _formatted(text: str, name: str) -> str:
    """`text` as ruff wants it: without unused imports, with sorted ones, and `yield from` for a loop that yields."""
    fix = ["check", "--quiet", "--fix-only", "--unsafe-fixes", "--select", "F401,I,UP028"]
    for options in (fix, ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *options, "--stdin-filename", str(CLIENT / f"{name}.py"), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    write_or_check({CLIENT / f"{blocking}.py": to_blocking(name) for name, blocking in NAMES.items()})
