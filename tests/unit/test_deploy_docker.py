"""The images' and compose files' text. tests/e2e/test_container_image.py builds one where it can."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from inkgate.cli.configure import unknown_variables
from inkgate.settings import load_settings

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "deploy" / "docker"
DOCKERFILES = sorted(DOCKER.glob("Dockerfile*"))


class ComposeLoader(yaml.SafeLoader):
    """YAML with compose's own tags."""


ComposeLoader.add_constructor("!reset", lambda *_: None)


def compose(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((DOCKER / name).read_text(encoding="utf-8"), ComposeLoader)  # noqa: S506 - ours
    return found


COMPOSE_FILES = {path.name: compose(path.name) for path in sorted(DOCKER.glob("*.yaml"))}


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, *DOCKERFILES], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def variables() -> Iterator[tuple[str, str, str]]:
    """File, name and value of each variable of inkgate's."""
    for path in DOCKERFILES:
        for name, value in re.findall(r"\b(INKGATE_\w+)=(\S+)", path.read_text(encoding="utf-8")):
            if name != "INKGATE_AUTH__KEY_HASHES":  # in the usage
                yield path.name, name, value
    for file, content in COMPOSE_FILES.items():
        for service in content["services"].values():
            for name, value in service.get("environment", {}).items():
                if name.startswith("INKGATE_"):
                    yield file, name, re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value)


def test_every_variable_is_a_setting_with_a_possible_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in {file for file, _, _ in variables()}:
        given = {name.removesuffix("_FILE"): value for its_file, name, value in variables() if its_file == file}
        assert list(unknown_variables(given)) == [], file
        with monkeypatch.context() as patch:
            for name, value in given.items():
                if not value.startswith("/run/secrets/"):
                    patch.setenv(name, value)
            load_settings()


def test_images_need_no_root_and_cannot_be_open_by_mistake() -> None:
    for path in DOCKERFILES:
        text = path.read_text(encoding="utf-8")
        assert "\nUSER 10001:10001\n" in text
        assert "ALLOW_OPEN" not in text
        assert re.search(r"^ARG BASE=", text, re.MULTILINE)


def test_images_have_what_the_service_may_need_and_no_unknown_extra() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for path in DOCKERFILES:
        [extras] = re.findall(r"^ARG EXTRAS=(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        chosen = set(extras.split(","))
        assert chosen <= set(known), path.name
        assert chosen >= {"redis", "postgres", "kafka", "nats", "rabbit", "otel"}, path.name


def test_secrets_and_volumes_that_services_use_exist() -> None:
    declared: dict[str, set[str]] = {kind: set() for kind in ("secrets", "volumes")}
    for content in COMPOSE_FILES.values():
        for kind, names in declared.items():
            names |= set(content.get(kind, {}))
    for content in COMPOSE_FILES.values():
        for service in content["services"].values():
            assert set(service.get("secrets", [])) <= declared["secrets"]
            named = {volume.split(":")[0] for volume in service.get("volumes", []) if volume[0] not in "./"}
            assert named <= declared["volumes"]
            for volume in service.get("volumes", []):
                if volume.startswith("../"):
                    assert (DOCKER / volume.split(":")[0]).is_file(), volume


def test_what_the_image_copies_exists_and_reaches_the_build() -> None:
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for path in DOCKERFILES:
        for line in re.findall(r"^COPY (?!--from)(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            *sources, _ = re.sub(r"--\S+ ", "", line).split()
            for source in sources:
                assert (ROOT / source).exists(), source
                assert any(source == each or source.startswith(each + "/") for each in sent), source


class Alive(BaseHTTPRequestHandler):
    """Answers what both probes take."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"vllm:num_requests_running 0\n")

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_probes_of_a_container_go_through_no_proxy() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Alive) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            **{name: value for name, value in os.environ.items() if name.lower() != "no_proxy"},
            "http_proxy": "http://127.0.0.1:9",
            "INKGATE_SERVER__PORT": str(server.server_port),
        }
        metrics = f"http://127.0.0.1:{server.server_port}/metrics"
        engine = ROOT / "deploy" / "helm" / "inkgate" / "files" / "engine_alive.py"
        for command in ([str(DOCKER / "healthy.py")], [str(engine), metrics]):
            done = subprocess.run(
                [sys.executable, *command], env=environment, capture_output=True, text=True, check=False, timeout=120
            )
            assert (done.returncode, done.stderr) == (0, ""), command[0]
        server.shutdown()
