"""The examples of docs/guides/extending.md: an engine, a policy, a wire format, a sink and a way in of another
package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import anyio
import pytest

from inkgate.bootstrap import running
from inkgate.bootstrap.stack import build_parts
from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.fields.document_types import GROUP, DocumentTypes, type_packages
from inkgate.page import Page
from inkgate.service.reader import CheckedOptions
from inkgate.settings import Settings, load_settings
from inkgate_client.types import Document, PageError, PageResult, Task
from support.api_client import png, running_api, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ALPHA, KEYS, jobs_api, submit, until

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL: dict[str, dict[str, object]] = {"pdf": {"warm_workers": 0}}


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "extending"))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the examples are installed as a package."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    source = shutil.copytree(EXAMPLES / "extending", tmp_path_factory.mktemp("source") / "extending")
    command = [*pip, "--no-build-isolation", "--target", str(folder), str(source)]
    subprocess.run(command, check=True, timeout=300)
    return folder


class Echo(FakeEngine):
    """An engine whose text is the tenant."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return PageResult(page.index, text=f"read for {caller.tenant}", engine=self.name)


@pytest.mark.skipif(
    shutil.which("tesseract") is None and "INKGATE_REQUIRE_ALL" not in os.environ, reason="tesseract is not installed"
)
async def test_an_engine() -> None:
    settings = load_settings(None, engine={"name": "tesseract_engine:Tesseract"}, **SMALL)
    async with running(settings) as service, service.gateway.admit(Caller("ada")) as admitted:
        document = Document((EXAMPLES / "report.png").read_bytes())
        async with admitted.read(document, CheckedOptions()) as reading:
            result = await reading.all()
    assert result.engine == "tesseract"
    assert "technical assistance" in result.pages[0].text.lower()


async def test_an_engine_has_the_layers_of_the_others_and_a_policy_is_the_outermost() -> None:
    name = f"{__name__}:Echo"
    engine: dict[str, object] = {"name": name, "layers": ["slow_pages:SlowPages"]}
    settings = load_settings(None, engine=engine, **SMALL)
    parts = build_parts(settings)
    assert parts.state_objects.build.pipeline == (
        "slow_pages:SlowPages",
        "images",
        "fields",
        "cache",
        "codes",
        "edges",
        "confidence",
        "text layer",
        "unread",
        "scheduler",
        "progress",
        "degradation",
        "fallback",
        "fake",
    )
    async with (
        running(settings) as service,
        service.gateway.admit(Caller("ada")) as admitted,
        admitted.read(Document(png()), CheckedOptions()) as reading,
    ):
        assert (await reading.all()).pages[0].text == "read for ada"


async def test_a_wire_format() -> None:
    async with running_api(server={"formats": ["ocr_space:router"]}) as api:
        good = await api.client.post("/parse/image", files={"file": ("a.png", png())})
        assert (good.status_code, good.json()["IsErroredOnProcessing"]) == (200, False)
        assert [page["FileParseExitCode"] for page in good.json()["ParsedResults"]] == [1]
        bad = await api.client.post("/parse/image", files={"other": ("a.png", png())})
        assert (bad.status_code, bad.json()["ErrorMessage"]) == (400, ["The form has no part `file`."])
        assert "/parse/image" in (await api.client.get("/openapi.json")).json()["paths"]


async def test_a_way_in(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "report.png", tmp_path / "a.png")
    (tmp_path / "b.png").write_text("no image")
    environment = {**os.environ, "INKGATE_PDF__WARM_WORKERS": "0"}
    command = [sys.executable, str(EXAMPLES / "extending/watch_folder.py"), str(tmp_path)]
    async with await anyio.open_process(command, env=environment) as watching:
        with anyio.fail_after(120):
            while not ((tmp_path / "a.txt").exists() and (tmp_path / "b.txt").exists()):
                assert watching.returncode is None
                await anyio.sleep(0.1)
        watching.terminate()
    assert "technical assistance" in (tmp_path / "a.txt").read_text().lower()
    assert "type_unsupported" in (tmp_path / "b.txt").read_text()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module:Engine", "there is no module 'no_such_module'"),
        ("slow_pages:Nothing", "the module 'slow_pages' has no 'Nothing'"),
        ("json:dumps", "json:dumps can't be used: TypeError"),
        ("builtins:print", "NoneType is no engine, it has no `name`, `start`, `read`, `stop`"),
        (
            "careless:Engine",
            "careless:Engine can't be imported: AttributeError: 'int' object",
        ),
    ],
)
def test_what_can_not_be_used_is_said_with_its_setting(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "careless.py").write_text("(1).nothing")
    monkeypatch.syspath_prepend(str(tmp_path))
    wrong: dict[str, dict[str, object]] = {"engine.name": {"name": name}, "engine.layers": {"layers": [name]}}
    for setting, engine in wrong.items():
        with pytest.raises(InputRejected, match="extension_invalid") as raised:
            build_parts(load_settings(None, engine=engine, **SMALL))
        assert says in str(raised.value)
        assert f"`{setting}`" in str(raised.value)


async def test_a_wire_format_that_is_no_router_is_said() -> None:
    with pytest.raises(InputRejected, match=r"`server\.formats`: json:dumps is no FastAPI router"):
        async with running_api(server={"formats": ["json:dumps"]}):
            pytest.fail("there is no such router")


class Rambling(FakeEngine):
    """Its model repeats itself on every page."""

    def __init__(self, _: Settings) -> None:
        super().__init__()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return PageResult(page.index, engine=self.name, error=PageError("output_repeats", "", ""))


@pytest.mark.parametrize("fallback", [True, False])
async def test_an_engine_whose_pages_are_taken_over_is_ready(fallback: bool) -> None:
    engine: dict[str, object] = {"name": f"{__name__}:Rambling", "vllm": {"fallback": fallback}}
    async with running(load_settings(None, engine=engine, **SMALL)) as service:
        with anyio.fail_after(60):
            service.readiness.ask()
            while "has not read" in "".join(reasons := await service.readiness.reasons()):  # noqa: ASYNC110 - polled
                await anyio.sleep(0.05)
    assert (not reasons) is fallback


class Broken(FakeEngine):
    """Neither starts nor stops."""

    def __init__(self, _: Settings) -> None:
        super().__init__()

    async def start(self) -> None:
        raise OSError("no license")

    async def stop(self) -> None:
        raise ValueError("not started")


async def test_an_engine_that_does_not_start_is_said_though_it_does_not_stop_either() -> None:
    with pytest.raises(OSError, match="no license"):
        async with running(load_settings(None, engine={"name": f"{__name__}:Broken"}, **SMALL)):
            pytest.fail("it did not start")


class Nonsense(FakeEngine):
    """A layer that answers the first page with nonsense."""

    def __init__(self, inner: FakeEngine) -> None:
        super().__init__()
        self.inner = inner

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return await self.inner.read(page, task, caller) if page.index else None  # type: ignore[return-value]


async def test_nonsense_of_a_layer_fails_its_page_and_no_other() -> None:
    engine: dict[str, object] = {"name": f"{__name__}:Echo", "layers": [f"{__name__}:Nonsense"]}
    async with (
        running(load_settings(None, engine=engine, **SMALL)) as service,
        service.gateway.admit(Caller("ada")) as admitted,
        admitted.read(Document(tiff(2)), CheckedOptions()) as reading,
    ):
        first, second = (await reading.all()).pages
    assert first.error is not None
    assert (first.error.code, second.text) == ("engine_failed", "read for ada")


def test_a_package_adds_a_command(package: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), *sys.path])}
    command = [sys.executable, "-m", "inkgate", "words", str(EXAMPLES / "report.png")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert int(re.findall(r"report\.png: (\d+) words", ended.stdout)[0]) > 100


def test_a_package_adds_document_types(package: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), *sys.path])}
    command = [sys.executable, "-m", "inkgate", "types", "parking_ticket"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert set(json.loads(ended.stdout)["properties"]) == {"plate", "expires", "price"}


@pytest.mark.parametrize(
    ("value", "says"),
    [("json:dumps", "parking is no TypePackage"), ("no_such_module:TYPES", "parking`: there is no module")],
)
def test_document_types_that_can_not_be_used_are_said(value: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("parking", value, GROUP)
    monkeypatch.setattr("inkgate.settings.extensions.entry_points", lambda group: [point] if group == GROUP else [])
    type_packages.cache_clear()
    try:
        with pytest.raises(InputRejected, match=says):
            DocumentTypes.load()
    finally:
        type_packages.cache_clear()


async def test_a_package_adds_an_engine_a_wire_format_and_a_sink_by_name(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package))
    parts = build_parts(load_settings(None, engine={"name": "tesseract"}, **SMALL))
    assert parts.state_objects.build.pipeline[-1] == "tesseract"
    sinks = {"own": {"kind": "extension", "make": "summaries", "options": {"folder": str(tmp_path)}}}
    async with jobs_api(tmp_path / "jobs", sinks=sinks, server={"formats": ["ocr_space"]}) as api:
        assert "/parse/image" in (await api.client.get("/openapi.json")).json()["paths"]
    with pytest.raises(InputRejected, match="installed packages have ocr_space"):
        async with running_api(server={"formats": ["ocr_spice"]}):
            pytest.fail("there is no such format")


async def test_a_sink(tmp_path: Path) -> None:
    sinks = {"own": {"kind": "extension", "make": "summary_files:SummaryFiles", "options": {"folder": str(tmp_path)}}}
    pipelines = {"all": {"sinks": ["own"], "tenant": f"key:{KEYS['key_hashes'][0][:12]}"}}
    async with jobs_api(tmp_path / "jobs", auth=KEYS, sinks=sinks, pipelines=pipelines) as api:
        job = await submit(api, png(), ALPHA, pipeline="all")
        with anyio.fail_after(60):
            await until((tmp_path / f"{job['id']}.json").exists)
    assert json.loads((tmp_path / f"{job['id']}.json").read_text()) == {"name": "scan.tiff", "data": None}


async def test_a_sink_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    sinks = {"own": {"kind": "extension", "make": f"{__name__}:Echo"}}
    with pytest.raises(InputRejected, match=r"`sinks\.own\.make`"):
        async with jobs_api(tmp_path, sinks=sinks):
            pass
