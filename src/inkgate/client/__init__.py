"""Python client of a running inkgate service.

    with InkgateClient("http://127.0.0.1:7860") as client:
        document = client.read("scan.pdf", pages="1-3")
        print(document.markdown)
        document.save("scan.docx")

`AsyncInkgateClient` has the same methods as coroutines. All errors of files, connections and the service are
ServiceError; FileUnreadable, a subclass, means that the file can't be read.
"""

from __future__ import annotations

from inkgate.client.awaited import AsyncInkgateClient, AsyncPages
from inkgate.client.awaited_documents import AsyncClientDocument
from inkgate.client.awaited_jobs import AsyncJobHandle, AsyncJobPages, AsyncJobs
from inkgate.client.blocking import InkgateClient, Pages
from inkgate.client.blocking_documents import ClientDocument
from inkgate.client.blocking_jobs import JobHandle, JobPages, Jobs
from inkgate.client.errors import FileUnreadable, ServiceError
from inkgate.client.fields import Fields
from inkgate.client.files import File
from inkgate.client.job_fields import CorrectionMade, JobFieldsFound
from inkgate.client.jobs import JobAs, JobListPage, JobPageCounts, JobProblem, JobStatus, JobUnfinished
from inkgate.client.many import Outcome, read_many
from inkgate.client.reading import DocumentReader, MemoryReader, RemoteReader
from inkgate.client.requests import ClientRequest, ReadOptions
from inkgate.client.retries import RetryPolicy
from inkgate.client.streams import Summary
from inkgate.fields.asked import WantedFields

__all__ = [
    "AsyncClientDocument",
    "AsyncInkgateClient",
    "AsyncJobHandle",
    "AsyncJobPages",
    "AsyncJobs",
    "AsyncPages",
    "ClientDocument",
    "ClientRequest",
    "CorrectionMade",
    "DocumentReader",
    "Fields",
    "File",
    "FileUnreadable",
    "InkgateClient",
    "JobAs",
    "JobFieldsFound",
    "JobHandle",
    "JobListPage",
    "JobPageCounts",
    "JobPages",
    "JobProblem",
    "JobStatus",
    "JobUnfinished",
    "Jobs",
    "MemoryReader",
    "Outcome",
    "Pages",
    "ReadOptions",
    "RemoteReader",
    "RetryPolicy",
    "ServiceError",
    "Summary",
    "WantedFields",
    "read_many",
]
