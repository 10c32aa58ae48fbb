"""A local double of Notion's API (2026-03-11): an HTTP server that keeps databases, pages, blocks and files, and
refuses what Notion refuses.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from support.notion_rules import Refused, check_blocks, check_schema, checked_properties

Json = dict[str, Any]
TOKEN = "ntn_secret_of_the_double"  # noqa: S105
DATABASE = "1f2e3d4c-0000-4000-8000-000000000001"
SOURCE = "1f2e3d4c-0000-4000-8000-000000000002"
VERSION = "2026-03-11"
MIB = 2**20
_MAX_JSON = 500_000
_TYPES = {"pdf": "application/pdf", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "txt": "text/plain"}
_TYPES |= {"tif": "image/tiff", "tiff": "image/tiff", "webp": "image/webp", "gif": "image/gif", "heic": "image/heic"}


@dataclass
class Fault:
    """What goes wrong with a request whose method and path match `of`, after `skip` of them, `times` times.

    `status` 0: the connection breaks. `done`: only after the request was carried out.
    """

    of: str
    status: int = 0
    retry_after: str = ""
    done: bool = False
    skip: int = 0
    times: int = 1

    def strikes(self, request: str) -> bool:
        if not re.fullmatch(self.of, request) or not self.times:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass
class NotionDouble:
    """The state. `requests`: method and path of each, as `POST pages`. `before`: awaited before each request."""

    columns: Json = field(default_factory=lambda: {"Name": {"id": "title", "type": "title", "title": {}}})
    most_file_bytes: int = 5 * MIB
    url: str = ""
    requests: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    before: Callable[[str], Awaitable[None]] | None = None
    pages: dict[str, Json] = field(default_factory=dict)
    blocks: dict[str, Json] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    uploads: dict[str, Json] = field(default_factory=dict)
    sources: list[str] = field(default_factory=lambda: [SOURCE])
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())

    def add_columns(self, **types: str) -> None:
        for name, kind in types.items():
            self.columns[name] = {"id": name, "type": kind, kind: {}}

    @property
    def rows(self) -> list[Json]:
        """The pages that are not in the trash."""
        return [page for page in self.pages.values() if not page["in_trash"]]

    def values(self, page: Json) -> Json:
        """A row's values by column, in short."""
        return {name: _short(value) for name, value in page["properties"].items()}

    def text(self, parent: str) -> list[str]:
        """The texts of the blocks inside, depth first."""
        found = []
        for each in self.children.get(parent, []):
            block = self.blocks[each]
            inside = block[block["type"]]
            cells = inside.get("cells", [])
            texts = inside.get("rich_text") or [piece for one in cells for piece in one]
            found += ["".join(piece["plain_text"] for piece in texts), *self.text(each)]
        return found

    async def handle(self, request: web.Request) -> web.StreamResponse:
        said = f"{request.method} {request.path.removeprefix('/v1/')}"
        self.requests.append(said)
        if self.before is not None:
            await self.before(said)
        fault = next((each for each in self.faults if each.strikes(said)), None)
        if fault is not None and not fault.done:
            return self._fails(request, fault)
        try:
            answer = await self._answer(request, said)
        except Refused as error:
            return _error(error.status, error.code, str(error))
        return web.json_response(answer) if fault is None else self._fails(request, fault)

    def _fails(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if not fault.status:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        code = {409: "conflict_error", 429: "rate_limited", 529: "service_overload", 401: "unauthorized"}
        headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        return _error(fault.status, code.get(fault.status, "internal_server_error"), "a fault", headers)

    async def _answer(self, request: web.Request, said: str) -> Json:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused("API token is invalid.", 401, "unauthorized")
        if request.headers.get("Notion-Version") != VERSION:
            raise Refused("Notion-Version header should be defined.", 400, "missing_version")
        if "multipart" in request.content_type:
            return await self._send(said.split("/")[1], request)
        raw = await request.read()
        if len(raw) > _MAX_JSON:
            raise Refused("body failed validation: the payload is larger than 500 KB.")
        body = await request.json() if raw else {}
        for pattern, answer in self._routes().items():
            if found := re.fullmatch(pattern, said):
                return answer(*found.groups(), {**request.query, **body})
        raise Refused("Invalid request URL.", 400, "invalid_request_url")

    def _routes(self) -> dict[str, Callable[..., Json]]:
        return {
            "GET users/me": self._me,
            "GET data_sources/(.+)": self._source,
            "PATCH data_sources/(.+)": self._change_source,
            "POST data_sources/(.+)/query": self._query,
            "GET databases/(.+)": self._database,
            "POST pages": self._create,
            "PATCH pages/(.+)": self._update,
            "GET blocks/(.+)/children": self._list,
            "PATCH blocks/(.+)/children": self._append,
            "DELETE blocks/(.+)": self._delete,
            "POST file_uploads": self._upload,
            "POST file_uploads/(.+)/complete": self._complete,
        }

    def _me(self, _: Json) -> Json:
        limits = {"max_file_upload_size_in_bytes": self.most_file_bytes}
        return {"object": "user", "type": "bot", "id": "bot", "bot": {"workspace_limits": limits}}

    def _source(self, key: str, _: Json) -> Json:
        if key not in self.sources:
            raise Refused("Could not find data_source.", 404, "object_not_found")
        return {"object": "data_source", "id": key, "properties": self.columns}

    def _database(self, key: str, _: Json) -> Json:
        if key != DATABASE:
            raise Refused("Could not find database.", 404, "object_not_found")
        return {"object": "database", "id": key, "data_sources": [{"id": each, "name": each} for each in self.sources]}

    def _change_source(self, key: str, body: Json) -> Json:
        self._source(key, {})
        for name, schema in check_schema(body["properties"]).items():
            self.columns[name] = {"id": name, "name": name, "type": next(iter(schema)), **schema}
        return self._source(key, {})

    def _query(self, key: str, body: Json) -> Json:
        self._source(key, {})
        name, start = body["filter"]["property"], body["filter"]["rich_text"]["starts_with"]
        if name not in self.columns:
            raise Refused(f"Could not find property with name or id: {name}")
        found = []
        for page in self.rows:
            text = "".join(piece["plain_text"] for piece in page["properties"][name]["rich_text"])
            if text.startswith(start):
                found.append(page)
        return {"object": "list", "results": found, "has_more": False, "next_cursor": None}

    def _create(self, body: Json) -> Json:
        assert body["parent"] == {"type": "data_source_id", "data_source_id": SOURCE}
        properties = checked_properties(body["properties"], self.columns, self.uploads)
        check_blocks(body.get("children", []))
        key = self.new_id()
        empty = {
            name: {"id": name, "type": each["type"], **_EMPTY[each["type"]]} for name, each in self.columns.items()
        }
        self.pages[key] = {
            "object": "page",
            "id": key,
            "url": f"https://www.notion.so/{key.replace('-', '')}",
            "created_time": "2026-11-25T19:00:00.000Z",  # Notion rounds to minutes
            "in_trash": False,
            "properties": {**empty, **properties},
        }
        self._put(key, body.get("children", []))
        return self.pages[key]

    def _update(self, key: str, body: Json) -> Json:
        page = self._editable(key)
        page["properties"] |= checked_properties(body.get("properties", {}), self.columns, self.uploads)
        page["in_trash"] = body.get("in_trash", page["in_trash"])
        return page

    def _editable(self, key: str) -> Json:
        if key not in self.pages:
            raise Refused("Could not find page.", 404, "object_not_found")
        if self.pages[key]["in_trash"]:
            raise Refused("Can't edit block that is archived. You must unarchive the block before editing.")
        return self.pages[key]

    def _list(self, key: str, query: Json) -> Json:
        size, start = int(query.get("page_size", 100)), int(query.get("start_cursor", 0))
        found = [self.blocks[each] for each in self.children.get(key, [])]
        more = len(found) > start + size
        return {
            "object": "list",
            "results": found[start : start + size],
            "has_more": more,
            "next_cursor": str(start + size) if more else None,
        }

    def _append(self, key: str, body: Json) -> Json:
        if key in self.pages:
            self._editable(key)
        elif key not in self.blocks:
            raise Refused("Could not find block.", 404, "object_not_found")
        check_blocks(body["children"])
        return {"object": "list", "results": self._put(key, body["children"])}

    def _put(self, parent: str, blocks: list[Json]) -> list[Json]:
        made = []
        for block in blocks:
            kind, key = block["type"], self.new_id()
            inside = {name: value for name, value in block[kind].items() if name != "children"}
            self.blocks[key] = {"object": "block", "id": key, "type": kind, kind: _with_plain_text(inside)}
            self.children.setdefault(parent, []).append(key)
            self._put(key, block[kind].get("children", []))
            made.append(self.blocks[key])
        return made

    def _delete(self, key: str, _: Json) -> Json:
        if key not in self.blocks:
            raise Refused("Could not find block.", 404, "object_not_found")
        for inside in self.children.values():
            if key in inside:
                inside.remove(key)
        return self.blocks[key]

    def _upload(self, body: Json) -> Json:
        name, kind = body["filename"], body["content_type"]
        if _TYPES.get(name.rpartition(".")[2].lower()) != kind:
            raise Refused(f"Provided filename has an unsupported extension, or another type than {kind}.")
        key = self.new_id()
        self.uploads[key] = {"object": "file_upload", "id": key, "status": "pending", "data": {}, **body}
        return {**self.uploads[key], "data": None}

    async def _send(self, key: str, request: web.Request) -> Json:
        form = await request.post()
        upload, file = self.uploads[key], form["file"]
        assert isinstance(file, web.FileField)
        data = file.file.read()
        part = int(str(form.get("part_number", "1")))
        parts = upload.get("number_of_parts", 1)
        if len(data) > 20 * MIB or (part < parts and len(data) < 5 * MIB) or not 1 <= part <= parts:
            raise Refused("The part's size or number is not allowed.")
        upload["data"][part] = data
        if sum(map(len, upload["data"].values())) > self.most_file_bytes:
            raise Refused("The file is larger than the workspace allows.")
        if upload["mode"] == "single_part":
            upload["status"] = "uploaded"
        return {**upload, "data": None}

    def _complete(self, key: str, _: Json) -> Json:
        upload = self.uploads[key]
        if upload["mode"] != "multi_part" or sorted(upload["data"]) != list(range(1, upload["number_of_parts"] + 1)):
            raise Refused("Not all parts were sent.")
        upload["status"] = "uploaded"
        return {**upload, "data": None}

    def file(self, page: Json, column: str = "File") -> bytes:
        """The bytes of the one file in a row."""
        [each] = page["properties"][column]["files"]
        data = self.uploads[each["file_upload"]["id"]]["data"]
        return b"".join(data[part] for part in sorted(data))


_EMPTY: dict[str, Json] = {
    "title": {"title": []},
    "rich_text": {"rich_text": []},
    "number": {"number": None},
    "date": {"date": None},
    "select": {"select": None},
    "multi_select": {"multi_select": []},
    "checkbox": {"checkbox": False},
    "files": {"files": []},
    "formula": {"formula": {"type": "number", "number": None}},
}


def _with_plain_text(inside: Json) -> Json:
    found = dict(inside)
    if "rich_text" in found:
        found["rich_text"] = [{**piece, "plain_text": piece["text"]["content"]} for piece in found["rich_text"]]
    if "cells" in found:
        found["cells"] = [
            [{**piece, "plain_text": piece["text"]["content"]} for piece in each] for each in found["cells"]
        ]
    return found


def _short(value: Json) -> Any:  # noqa: ANN401 - of any column
    inside = value[value["type"]]
    match value["type"]:
        case "title" | "rich_text":
            return "".join(piece["plain_text"] for piece in inside)
        case "select":
            return inside and inside["name"]
        case "date":
            return inside and inside["start"]
        case "files":
            return [each["name"] for each in inside]
        case _:
            return inside


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {"object": "error", "status": status, "code": code, "message": message}
    return web.json_response(body, status=status, headers=headers)


@asynccontextmanager
async def notion_double(**state: Any) -> AsyncIterator[NotionDouble]:  # noqa: ANN401 - of NotionDouble
    """The double, listening on loopback."""
    double = NotionDouble(**state)
    app = web.Application(client_max_size=64 * MIB)
    app.router.add_route("*", "/v1/{path:.*}", double.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        double.url = site.name if not site.name.endswith(":0") else f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield double
    finally:
        await runner.cleanup()
