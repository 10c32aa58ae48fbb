"""The table of clients, and the environments that they are installed in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal, NoReturn

import pytest
from pydantic import BaseModel, ConfigDict

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
ENVIRONMENTS = ROOT / ".setup" / "clients"
INSTALL_S = 480.0
_NO_NETWORK = re.compile(
    r"connection broken by|NewConnectionError|ConnectTimeout|name resolution|E(NOTFOUND|CONNREFUSED|AI_AGAIN|TIMEDOUT)"
)


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Client(_Row):
    """A client. README.md describes its fields."""

    name: str
    call: str
    service: Literal["embedded", "open", "model", "scripted"]
    expects: str
    packages: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    quick: bool = False
    here: bool = False

    @property
    def script(self) -> Path:
        return FOLDER / "calls" / self.call


class NotRun(_Row):
    """Clients that no row runs, as pages name them, and why."""

    covers: tuple[str, ...]
    reason: str


class Table(_Row):
    """The content of clients.toml."""

    client: tuple[Client, ...]
    not_run: tuple[NotRun, ...]

    @classmethod
    def read(cls) -> Table:
        return cls.model_validate(tomllib.loads((FOLDER / "clients.toml").read_text("utf-8")))


def command(client: Client) -> list[str]:
    """The command that runs the client's script; installs the client if it is not installed yet."""
    if client.here:
        return [sys.executable, "-P", str(client.script)]
    if client.script.suffix == ".mjs":
        node = shutil.which("node")
        if node is None or shutil.which("npm") is None:
            unavailable("no node or npm here")
        # node looks for packages in the folders above the script.
        copy = _environment(client) / client.call
        shutil.copy(client.script, copy)
        return [node, str(copy)]
    return [str(_environment(client) / "bin" / "python"), "-P", str(client.script)]


def unavailable(why: str) -> NoReturn:
    """Skips the test; fails it if INKGATE_REQUIRE_ALL is set."""
    if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail(why)
    pytest.skip(why)


def _environment(client: Client) -> Path:
    """The folder with the client's packages; clients with the same packages share one."""
    projects = [ROOT / package.partition("[")[0] for package in client.packages if package.startswith("./")]
    described = [(project / "pyproject.toml").read_text("utf-8") for project in projects]
    pins = json.dumps([sys.version_info[:2], client.packages, client.npm, described])
    folder = ENVIRONMENTS / hashlib.sha256(pins.encode()).hexdigest()[:12]
    done = folder / "installed.json"
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin" / "python")]
    npm = ["npm", "install", "--prefix", str(folder), "--no-fund", "--no-audit", "--ignore-scripts", "--silent"]
    _install([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    if client.packages:
        packages = [part for package in client.packages for part in (["-e"] * package.startswith("./") + [package])]
        _install([*pip, "install", "--quiet", *packages])
    if client.npm:
        _install([*npm, *client.npm])
    done.write_text(pins, encoding="utf-8")
    return folder


def _install(arguments: list[str]) -> None:
    ended = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if ended.returncode:
        said = ended.stderr + ended.stdout
        if _NO_NETWORK.search(said):
            unavailable(f"no network to install it: {said[-300:]}")
        pytest.fail(f"{' '.join(arguments)}:\n{said[-3000:]}")
