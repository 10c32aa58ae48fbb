"""Binary files of jobs' results."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.caller import Caller, Priority
from inkgate.documents.files.write import FileRequest
from inkgate.jobs.job import Job
from inkgate.jobs.service import JobService
from inkgate.service.gateway import Gateway
from inkgate_client.format_names import FileFormat
from inkgate_client.types import Document, DocumentResult


async def file_request(jobs: JobService, job: Job, result: DocumentResult, kind: FileFormat) -> FileRequest:
    """The file to write. A searchable PDF needs the job's document again, the others only what was read of it.

    Raises:
        InkgateError: the document can't be loaded any more: see JobDocuments.load.
    """
    document = await jobs.load(job) if kind is FileFormat.PDF else Document(b"", job.name)
    return FileRequest(document, result, kind)


@dataclass(frozen=True, slots=True)
class JobFiles:
    """Makes files for sinks, on behalf of the tenant of the job."""

    jobs: JobService
    gateway: Gateway

    async def make(self, job: Job, result: DocumentResult, kind: FileFormat) -> bytes:
        """The file. Raises InkgateError."""
        caller = Caller(job.tenant, Priority.BATCH, flow=job.id, priority_given=True)
        return await self.gateway.reader.file(await file_request(self.jobs, job, result, kind), caller)
