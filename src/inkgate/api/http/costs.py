"""What requests cost and what bounds it, by class. Each route declares one with `costs`: without it, the application is
not made. docs/concepts/overload.md lists all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from starlette.routing import BaseRoute, Route

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Cost:
    """A class of routes that cost the same and are bounded in the same way. Texts are Markdown.

    Attributes:
        uses: what a request takes.
        admitted: whether the service's admission decides on every request, and refuses it when there is no room.
        admitted_by: what refuses a request.
        charged_to: whose share it uses.
        shared: how requests that wait are ordered.
        bounded_by: limits and deadlines; settings by their names, or a name of BOUNDS.
    """

    name: str
    uses: str
    admitted: bool
    admitted_by: str
    charged_to: str
    shared: str
    bounded_by: str


_ADMISSION = "admission, by the head"
_BODY, _ROOM, _SENDING, _IN_FLIGHT, _WRITING = "*body*", "*room*", "*sending*", "*in flight*", "*writing*"
BOUNDS = {
    _IN_FLIGHT: "`limits.max_in_flight`, `serving.admission.max_bytes_mb`",
    _BODY: "`limits.max_body_mb`, `limits.body_timeout_s`",
    _ROOM: "`serving.admission.max_results`, `serving.admission.max_result_mb`",
    _SENDING: "`server.send_timeout_s`, `server.min_send_kb_s`",
    _WRITING: "`pdf.write_timeout_s`, `pdf.worker_memory_mb`",
}
"""Bounds that several classes have, by their name in `bounded_by`."""
_WRITERS = "writers: class, tenant, deadline"

DOCUMENT = Cost(
    "document",
    uses="body and response in memory; threads; PDF workers; pages at the engine",
    admitted=True,
    admitted_by=_ADMISSION,
    charged_to="tenant: a document, and the bytes of body, file, pages read, and response",
    shared="page queue: class, tenant, document, deadline",
    bounded_by=f"{_IN_FLIGHT}, {_BODY}, `limits.max_pages`, `limits.time_s`, {_SENDING}",
)
CHAT = Cost(
    "chat",
    uses="body in memory; a request at the model server",
    admitted=True,
    admitted_by=f"{_ADMISSION}; it may wait there",
    charged_to="tenant: a document and the bytes of the body; at the model server, tokens",
    shared="call queue: class, tenant, deadline",
    bounded_by=f"{_IN_FLIGHT}, {_BODY}, `serving.admission.waiting_mb`, `limits.time_s`, {_SENDING}",
)
JOB = Cost(
    "job",
    uses="body in memory until it is stored; disk; rows of the database; pages at the engine, later",
    admitted=True,
    admitted_by=f"{_ADMISSION}; the tenant's share of the queue of jobs",
    charged_to="tenant: a document and the bytes of the body; later, its pages",
    shared="jobs: class, tenant by places and pages, turn",
    bounded_by=f"{_IN_FLIGHT}, {_BODY}, `jobs.max_queued_pages`, `jobs.tenant_share`, `jobs.max_pages`, "
    "`jobs.retention_days`",
)
FILE = Cost(
    "file",
    uses="body in memory; the file, in memory or in the store of jobs for an hour",
    admitted=True,
    admitted_by=f"{_ADMISSION}; then the room for files",
    charged_to="tenant: a document and the bytes of the body; then the bytes of its files",
    shared="a tenant may use as much room as stays free",
    bounded_by=f"{_IN_FLIGHT}, {_BODY}; 512 MB (shared: `jobs.max_files_mb`) and 20,000 files of all tenants",
)
CORRECTION = Cost(
    "correction",
    uses="body in memory; a thread that checks it; a row of the database",
    admitted=True,
    admitted_by=_ADMISSION,
    charged_to="tenant: a document and the bytes of the body",
    shared="writes to the database are committed together",
    bounded_by=f"{_IN_FLIGHT}, `limits.body_timeout_s`; 256 kB and 1,000 values",
)
PICTURE = Cost(
    "picture",
    uses="the file in memory; a PDF worker or a thread that decodes; a thread that encodes",
    admitted=True,
    admitted_by=f"{_ADMISSION}; the room for results",
    charged_to="tenant: a document, a result, and their bytes",
    shared="PDF workers: class, tenant, deadline",
    bounded_by=f"{_IN_FLIGHT}, {_ROOM}, `limits.max_pixels`, `limits.time_s`, {_SENDING}",
)
CONVERSION = Cost(
    "conversion",
    uses="body and file in memory; a process that parses the body and writes the file",
    admitted=True,
    admitted_by=f"{_ADMISSION}; the room for results",
    charged_to="tenant: a document, a result, and their bytes",
    shared=_WRITERS,
    bounded_by=f"{_IN_FLIGHT}, {_ROOM}, {_BODY}, `limits.time_s`, {_WRITING}, {_SENDING}",
)
RESULT = Cost(
    "result",
    uses="reads of the database; threads that render; some pages in memory, and the images of one",
    admitted=False,
    admitted_by="the tenant's open results; the room for results; for whole documents, admission",
    charged_to="tenant: an open result and its bytes; for whole documents, a document",
    shared="parts in turns, by tenant and job; whole documents one after another",
    bounded_by=f"`jobs.max_streams`, {_ROOM}, `limits.max_pages` for a whole document, {_SENDING}",
)
WRITTEN = Cost(
    "written result",
    uses="the whole document in memory; a process that writes the file",
    admitted=True,
    admitted_by="the tenant's open results; the room for results; admission",
    charged_to="tenant: an open result; a document and its bytes",
    shared=f"whole documents one after another, by tenant and job; {_WRITERS}",
    bounded_by=f"{_IN_FLIGHT}, `jobs.max_streams`, {_ROOM}, `limits.max_pages`, `limits.time_s`, {_WRITING}, "
    f"{_SENDING}",
)
STREAM = Cost(
    "stream",
    uses="a connection; reads of the database, shared by all who watch the job; pages that are sent",
    admitted=False,
    admitted_by="the tenant's open streams; the room for results",
    charged_to="tenant: an open stream and its bytes",
    shared="watched jobs in turn, 50 a second in all",
    bounded_by=f"`jobs.max_streams`, {_ROOM}, `server.max_connections`, {_SENDING}; the job's end, 60 s of `wait`",
)
CONTROL = Cost(
    "control",
    uses="reads and writes of rows in the database, or of the list of files",
    admitted=False,
    admitted_by="key and rate limit",
    charged_to="tenant: the time of its reads and in threads",
    shared="four readers, by tenant; writes in order of arrival",
    bounded_by="`rate_limit.per_key`, `server.max_connections`; 1,000 rows a request, of the list of batches 5,000; "
    "65 s a statement",
)
DOWNLOAD = Cost(
    "download",
    uses="a piece of the file in the connection's buffer",
    admitted=False,
    admitted_by="the room for results",
    charged_to="tenant: a result that is sent, and the bytes of a piece",
    shared="",
    bounded_by=f"{_ROOM}, `rate_limit.per_key`, `server.max_connections`, {_SENDING}",
)
STATE = Cost(
    "state",
    uses="some milliseconds of the event loop",
    admitted=False,
    admitted_by="key and rate limit; probes: nothing",
    charged_to="nobody",
    shared="",
    bounded_by="`rate_limit.per_key`, `server.max_connections`",
)
STATIC = Cost(
    "static",
    uses="a file, sent in pieces",
    admitted=False,
    admitted_by="nothing",
    charged_to="nobody",
    shared="",
    bounded_by=f"`server.max_connections`, `server.head_timeout_s`, {_SENDING}",
)

COSTS = (
    DOCUMENT,
    CHAT,
    JOB,
    FILE,
    CORRECTION,
    PICTURE,
    CONVERSION,
    RESULT,
    WRITTEN,
    STREAM,
    CONTROL,
    DOWNLOAD,
    STATE,
    STATIC,
)

_DECLARED: dict[Callable[..., object], Cost] = {}


def costs(cost: Cost) -> Callable[[Endpoint], Endpoint]:
    """Declares the class of an endpoint."""

    def declare(endpoint: Endpoint) -> Endpoint:
        _DECLARED[endpoint] = cost
        return endpoint

    return declare


def takes_documents(route: Route) -> bool:
    """Whether requests of the route have documents to read, now or later."""
    return _DECLARED.get(route.endpoint) in {DOCUMENT, CHAT, JOB}


@dataclass(frozen=True, slots=True)
class RouteCost:
    """A route and its class."""

    method: str
    path: str
    cost: Cost


def route_costs(routes: Iterable[BaseRoute]) -> Iterator[RouteCost]:
    """One for each method of each route. Raises TypeError if a route declares no class."""
    for route in routes:
        if not isinstance(route, Route) or route.endpoint not in _DECLARED:
            raise TypeError(f"{route} declares no class of cost")
        for method in sorted(route.methods or ()):
            yield RouteCost(method, route.path, _DECLARED[route.endpoint])
