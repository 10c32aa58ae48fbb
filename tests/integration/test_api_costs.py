"""Each route belongs to a class of cost, and is refused as its class says."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from inkgate.api import app as composition
from inkgate.api.http.auth import PADDLEOCR_JOBS, is_public, is_signed
from inkgate.api.http.costs import COSTS, DOWNLOAD, PICTURE, RESULT, STATIC, STREAM, WRITTEN, Cost, RouteCost
from inkgate.cli.configure import setting_fields
from inkgate.jobs.intake.arrivals import Intake
from inkgate.model_servers.server import ModelServer
from inkgate.serving.permits import Arrival
from inkgate.ui.site import PageSite
from support.api_client import Api, add_intake, png, tiff
from support.jobs_api import ALPHA, KEYS, ended, jobs_api
from support.pictured_page import PicturedEngine
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
FULL = {429, 503}
_FORMS: dict[str, dict[str, Any]] = {
    "/v1/files": {"files": {"file": ("scan.png", png())}},
    "/v1/jobs": {"files": {"file": ("scan.png", png())}},
    "PATCH": {"json": {"fields": {}}, "headers": {"If-Match": "*"}},
}


def routes_of(routes: list[BaseRoute], app: Starlette) -> Iterator[tuple[str, str]]:
    """Method and path of each route that the running application would match, also of included routers."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if isinstance(included, APIRouter):
            yield from routes_of(included.routes, app)
        elif isinstance(route, Mount):
            yield from ((method, route.path + rest) for rest in ("", "/{page:path}") for method in ("GET", "HEAD"))
        elif isinstance(route, Route):
            yield from ((method, route.path) for method in route.methods or ())
        else:
            raise TypeError(route)


@asynccontextmanager
async def whole_api(folder: Path) -> AsyncIterator[Api]:
    """The API with all that it can serve."""
    with running_stub(Reply(["Hello"]), ("stub-model",)) as stub:
        upstream = ModelServer(stub.url, 5)
        async with jobs_api(folder, PicturedEngine(), auth=KEYS, page=PageSite("/ui"), upstream=upstream) as api:
            jobs = api.context.service.jobs
            assert jobs is not None
            add_intake(api, Intake(jobs, {}))
            yield api
        await upstream.close()


async def test_each_route_is_listed_once_with_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with whole_api(tmp_path) as api:
        found = sorted(routes_of(api.app.routes, api.app))
        found += [(method, f"/ui{rest}") for rest in ("", "/{page:path}") for method in ("GET", "HEAD")]
        costs: tuple[RouteCost, ...] = api.app.state.costs
    assert sorted((row.method, row.path) for row in costs) == sorted(found)
    assert "\n<!-- site: routes -->\n" in (ROOT / "docs" / "concepts" / "overload.md").read_text(encoding="utf-8")
    monkeypatch.syspath_prepend(ROOT / "scripts" / "docs_site")
    items = re.findall(r"^- ([\w ]+): (`[A-Z|]+ /.*)$", import_module("cost_tables").routes_markdown(), re.MULTILINE)
    rows = [(*item, name) for name, routes in items for item in re.findall(r"`([A-Z|]+) (/\S*)`", routes)]
    listed = [(method, path, name) for methods, path, name in rows for method in methods.split("|")]
    assert sorted(listed) == sorted((row.method, row.path, row.cost.name) for row in costs)


async def test_a_route_that_declares_no_class_is_not_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    router = APIRouter()

    @router.get("/free")
    async def free() -> None: ...

    class Free:
        pass

    Free.router = router  # type: ignore[attr-defined]
    monkeypatch.setattr(composition, "ROUTES", (*composition.ROUTES, Free))
    with pytest.raises(TypeError, match="/free"):
        async with whole_api(tmp_path):
            pass


async def test_a_full_service_refuses_the_admitted_routes_and_no_others(tmp_path: Path) -> None:
    async with whole_api(tmp_path) as api:
        places = await places_of(api)
        wrong = []
        rows: tuple[RouteCost, ...] = api.app.state.costs
        # Last, because they remove what others look at.
        rows = tuple(sorted(rows, key=lambda row: (row.method == "DELETE", row.path.endswith(("cancel", "retry")))))
        api.limiter._max_documents = 1
        async with api.limiter.admit(Arrival("somebody")):
            for row in rows:
                status = await status_of(api, row, places)
                if (status in FULL) is not row.cost.admitted:
                    wrong.append((row.method, row.path, row.cost.name, status))
    assert wrong == []


async def test_full_room_for_results_refuses_what_is_sent_and_nothing_else(tmp_path: Path) -> None:
    async with whole_api(tmp_path) as api:
        places = await places_of(api)
        rows: tuple[RouteCost, ...] = api.app.state.costs
        rows = tuple(row for row in rows if row.method == "GET")
        limiter = api.context.room.limiter
        limiter._max_documents = 1
        async with limiter.admit(Arrival("somebody")):
            refused = {row.path: row.cost for row in rows if await status_of(api, row, places) in FULL}
    assert set(refused.values()) == {RESULT, WRITTEN, STREAM, DOWNLOAD, PICTURE}
    short = {"/v1/jobs/{job_id}", "/v1/status/poll/{task_id}"}  # without `wait`
    # There is no batch, and the job has no output of MinerU's.
    none = {
        row.path for row in rows if row.path.startswith(("/v1/batch/", "/v1/files/mineru.")) or "batch_id" in row.path
    }
    kinds = (RESULT, WRITTEN, STREAM, DOWNLOAD, PICTURE)
    assert set(refused) == {row.path for row in rows if row.cost in kinds} - short - none


async def places_of(api: Api) -> dict[str, str]:
    """A job that has ended, with the signature of its result, and a file."""
    form = {"model": "PaddleOCR-VL"}
    added = await api.client.post(PADDLEOCR_JOBS, files={"file": tiff(1)}, data=form, headers=ALPHA)
    job = added.json()["data"]["jobId"]
    await ended(api, {"links": {"self": f"/v1/jobs/{job}"}}, ALPHA)
    found = (await api.client.get(f"{PADDLEOCR_JOBS}/{job}", headers=ALPHA)).json()["data"]
    upload = await api.client.post("/v1/files", files={"file": ("scan.png", png())}, headers=ALPHA)
    signature = found["resultUrl"]["jsonUrl"].partition("signature=")[2]
    ids = dict.fromkeys(("job_id", "task_id", "result_id"), job)
    return {**ids, "file_id": upload.json()["id"], "signature": signature}


async def status_of(api: Api, row: RouteCost, places: dict[str, str]) -> int:
    given = _FORMS.get(row.method) or (_FORMS["/v1/jobs"] if row.method == "POST" else {})
    headers = {**ALPHA, "X-Inkgate-Wait": "0", **given.get("headers", {})}
    known = {"page": "1", "model": "prebuilt-layout", "kind": "output", "batch_id": "0" * 32, "name": "receipt"}
    known |= {"upload_id": "upload-" + "A" * 30, "output": "markdown", "figure_id": "1.1", "chunker": "hybrid"} | places
    path = re.sub(r"\{(\w+)(:path)?\}", lambda found: known.get(found[1], "x"), row.path)
    query = {"/ui/api/convert": "?format=text", "/ui/api/fields": "?format=csv"}.get(path, "")
    query = f"?signature={places['signature']}" if is_signed(path) else query
    answer = await api.client.request(row.method, path + query, **{**given, "headers": headers})
    return answer.status_code


async def test_without_a_key_all_routes_but_the_public_ones_answer_401(tmp_path: Path) -> None:
    wrong = []
    async with whole_api(tmp_path) as api:
        rows: tuple[RouteCost, ...] = api.app.state.costs
        for row in rows:
            path = re.sub(r"\{\w+(:path)?\}", "1", row.path)
            refused = (await api.client.request(row.method, path)).status_code == 401
            public = is_public(path) or is_signed(path) or path.startswith("/ui/1") or path == "/ui"
            if refused is public or (row.cost is STATIC) > public or (public and row.cost.admitted):
                wrong.append((row.method, path, row.cost.name, refused))
    assert wrong == []


def test_the_settings_that_bound_a_class_exist() -> None:
    known = {".".join(path) for path, _ in setting_fields()}
    named = {name for cost in COSTS for name in settings_in(cost)}
    assert named - known == set()
    assert len({cost.name for cost in COSTS}) == len(COSTS)


def settings_in(cost: Cost) -> list[str]:
    return [name for text in (cost.admitted_by, cost.bounded_by) for name in re.findall(r"`([a-z_]+\.[a-z_.]+)`", text)]
