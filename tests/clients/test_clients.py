"""Every client in clients.toml works with its own defaults."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lines import render

from clients.table import ROOT, Client, Table, command
from support.real_vllm import MODEL, NAME, PYTHON, SETTINGS, running_vllm
from support.server import Server, clean_environment, running_server
from support.stub_upstream import Reply, Request, error_reply, running_stub
from support.three_pages import HEADINGS, three_pages

KEY = "key-of-a-test"
LINE = "Invoice number 20417"
CALL_S = 300.0
WITH_KEY = {"INKGATE_AUTH__KEY_HASHES": json.dumps([hashlib.sha256(KEY.encode()).hexdigest()])}


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the scripts read."""
    folder = tmp_path_factory.mktemp("documents")
    render(LINE).save(folder / "line.png")
    shutil.copy(ROOT / "examples" / "report.png", folder)
    (folder / "three.pdf").write_bytes(three_pages())
    return folder


@pytest.fixture(scope="session")
def embedded() -> Iterator[Server]:
    with running_server(environment=WITH_KEY) as started:
        yield started


@pytest.fixture(scope="session")
def open() -> Iterator[Server]:  # noqa: A001 - the name in the table
    with running_server() as started:
        yield started


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The tiny model in a real vLLM, or a server that answers as it does to `line.png`."""
    with ExitStack() as stack:
        if PYTHON.exists() and MODEL.exists():
            url = stack.enter_context(running_vllm(tmp_path_factory.mktemp("vllm") / "vllm.log")).url
        else:
            url = stack.enter_context(running_stub(_as_the_tiny_model, models=(NAME,))).url
        settings = SETTINGS | WITH_KEY
        yield stack.enter_context(running_server("--vllm-url", url, environment=settings))


def _as_the_tiny_model(request: Request) -> Reply:
    """What the tiny model answers to `line.png`, in a context of 8,192 tokens."""
    if request["model"] != NAME:
        return error_reply(404, f"The model `{request['model']}` does not exist.")
    limit = request.get("max_tokens") or request.get("max_completion_tokens") or 1
    if limit > 8192:
        return error_reply(400, f"max_tokens={limit} cannot be greater than max_model_len=8192.")
    return Reply(("Invoice", " number", " 20417"))


def _scripted(request: Request) -> Reply:
    """In the form that the prompt asks for."""
    prompt = json.dumps(request["messages"])
    if "Layout Detection:" in prompt:
        layout = "<|box_start|>100 200 900 300<|box_end|><|ref_start|>text<|ref_end|><|rotate_up|>"
        return Reply((layout,))
    if "front matter" in prompt:
        head = (
            "primary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False"
        )
        return Reply((f"---\n{head}\n---\n{LINE}",))
    if "json" in prompt.lower():
        return Reply(('{"number": "20417"}',))
    return Reply((LINE,))


@pytest.fixture(scope="session")
def scripted() -> Iterator[Server]:
    with (
        running_stub(_scripted, models=(NAME,)) as stub,
        running_server("--vllm-url", stub.url, environment=SETTINGS | WITH_KEY) as started,
    ):
        yield started


@pytest.fixture(scope="session")
def recorded() -> Iterator[dict[str, dict[str, list[object]]]]:
    """The objects of `three.pdf` that each client showed; printed at the end as README.md has them (`pytest -s`)."""
    found: dict[str, dict[str, list[object]]] = {}
    yield found
    for name, objects in found.items():
        print(f"| {name} |", " | ".join(", ".join(map(str, of)) for of in objects.values()), "|", file=sys.stderr)


def _row(client: Client) -> object:
    mark = pytest.mark.real if client.quick else pytest.mark.installs
    return pytest.param(client, id=client.name, marks=mark)


@pytest.mark.parametrize("client", [_row(client) for client in Table.read().client])
def test_a_client_works_with_its_defaults(
    client: Client,
    documents: Path,
    recorded: dict[str, dict[str, list[object]]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    arguments = command(client)
    service: Server = request.getfixturevalue(client.service)
    ours = os.pathsep.join(path for path in sys.path if Path(path).is_relative_to(ROOT))
    environment = clean_environment(
        INKGATE_URL=service.url,
        INKGATE_KEY=KEY,
        INKGATE_MODEL=NAME,
        INKGATE_PYTHON=sys.executable,
        INKGATE_PATH=ours,
        DOCUMENTS=str(documents),
        HOME=str(tmp_path),
        PYTHONPATH=ours if client.here else "",
    )
    ended = subprocess.run(
        arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=CALL_S, check=False
    )
    assert ended.returncode == 0, f"{client.expects}\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
    last = ended.stdout.strip().rpartition("\n")[2]
    seen = json.loads(last)
    assert isinstance(seen, dict), f"{client.call} prints what it saw as a JSON object in its last line, not {last!r}"
    assert seen, f"{client.call} saw nothing"
    print(f"{client.name}: {last}", file=sys.stderr)
    if objects := seen.get("objects"):
        recorded[client.name] = objects
        assert len(objects["pages"]) == 3
        assert len(set(objects["figures"])) == 3
        assert (objects["tables"], objects["headings"]) == (["4x3"], list(HEADINGS))
