"""Adds jobs for every wire format: admits the request, receives its body, keeps the document, and adds the job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from starlette.requests import Request

from inkgate.api.http import uploads
from inkgate.api.http.context import context_of, tenant_of
from inkgate.api.http.document_response import ReceiveBody
from inkgate.api.http.errors import request_id_of
from inkgate.api.http.head import parse_head
from inkgate.api.jobs.request import JobDraft, ReceivedJob, key_of_request, names_priority
from inkgate.api.jobs.watches import JobWatches
from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobForecast
from inkgate.jobs.service import JobService


@dataclass(frozen=True, slots=True)
class JobCall:
    """A request about jobs.

    Attributes:
        tenant: whose jobs it may see.
    """

    request: Request
    jobs: JobService
    watches: JobWatches
    tenant: str

    @property
    def caller(self) -> Caller:
        """The caller on whose behalf the requested results are rendered."""
        return Caller(self.tenant, flow=request_id_of(self.request))

    async def job(self, job_id: str) -> Job:
        """The caller's job. Raises InputRejected("job_unknown") for all others too."""
        return await self.jobs.store.get(job_id, self.tenant)

    async def forecast(self, job: Job) -> JobForecast | None:
        """Returns when the job may end; None once it has ended."""
        return None if job.state.ended else await self.jobs.store.forecast(job)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that was added, or was there before with the same key."""

    job: Job
    duplicate: bool


def job_call(request: Request) -> JobCall:
    """The call that `request` is. Raises InputRejected("feature_unavailable") where jobs are off."""
    jobs, watches = context_of(request).service.jobs, request.app.state.job_watches
    if jobs is None or not isinstance(watches, JobWatches):
        raise InputRejected("feature_unavailable", "`jobs.enabled` is false in this service.")
    return JobCall(request, jobs, watches, tenant_of(request))


async def submit(
    call: JobCall,
    parse: Callable[[ReceivedJob], Awaitable[JobDraft]],
    receive_body: ReceiveBody = uploads.receive,
) -> Submitted:
    """Receives the body of the call's request and adds the job that `parse` finds in it.

    The body is in memory until its document is stored, so the request is admitted as one for reading is.

    Raises:
        Overloaded: there is no room for the body or for the job.
        InputRejected: the request has no document, or an invalid option.
    """
    request, context = call.request, context_of(call.request)
    head = parse_head(request, context.settings)
    key = key_of_request(request)
    async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
        with admitted.receiving() as count_bytes:
            body = await receive_body(request, context.settings.limits, context.bodies, admitted.caller, count_bytes)
        head = replace(head, caller=admitted.caller)
        received = ReceivedJob(context, head, body, request.query_params, key, names_priority(request))
        draft = await parse(received)
        # Frees the body before the upload is stored: as base64, it is a third larger than the file.
        del body, received
        if draft.data is not None:
            admitted.received(len(draft.data))
        with admitted.without_deadline():  # added as a whole, or not at all
            added = await call.jobs.submit(draft.job, draft.data)
    return Submitted(await call.job(added.id), added.duplicate)
