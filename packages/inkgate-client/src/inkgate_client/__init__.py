"""Python client of a running inkgate service.

    with InkgateClient("http://127.0.0.1:7860") as client:
        document = client.read("scan.pdf", pages="1-3")
        print(document.markdown)
        document.save("scan.docx")

`AsyncInkgateClient` has the same methods as coroutines. All errors of files, connections and the service are
ServiceError; FileUnreadable, a subclass, means that the file can't be read.

Importing this loads nothing; a name below is imported at its first use.
"""

from typing import TYPE_CHECKING

from inkgate_client.lazy import lazy_names

if TYPE_CHECKING:
    from inkgate_client.awaited import AsyncInkgateClient, AsyncPages
    from inkgate_client.awaited_documents import AsyncClientDocument
    from inkgate_client.awaited_jobs import AsyncJobHandle, AsyncJobPages, AsyncJobs
    from inkgate_client.blocking import InkgateClient, Pages
    from inkgate_client.blocking_documents import ClientDocument
    from inkgate_client.blocking_jobs import JobHandle, JobPages, Jobs
    from inkgate_client.errors import FileUnreadable, ServiceError
    from inkgate_client.extracted import Fields
    from inkgate_client.fields.asked import WantedFields
    from inkgate_client.files import File
    from inkgate_client.job_fields import CorrectionMade, JobFieldsFound
    from inkgate_client.jobs import JobAs, JobListPage, JobPageCounts, JobProblem, JobStatus, JobUnfinished
    from inkgate_client.many import Outcome, read_many
    from inkgate_client.reading import DocumentReader, MemoryReader, RemoteReader
    from inkgate_client.requests import ClientRequest, ReadOptions
    from inkgate_client.retries import RetryPolicy
    from inkgate_client.streams import Summary

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
    "__version__",
    "read_many",
]

__version__ = "0.1.0"

_MODULES = {
    "inkgate_client.awaited": (
        "AsyncInkgateClient",
        "AsyncPages",
    ),
    "inkgate_client.awaited_documents": ("AsyncClientDocument",),
    "inkgate_client.awaited_jobs": (
        "AsyncJobHandle",
        "AsyncJobPages",
        "AsyncJobs",
    ),
    "inkgate_client.blocking": (
        "InkgateClient",
        "Pages",
    ),
    "inkgate_client.blocking_documents": ("ClientDocument",),
    "inkgate_client.blocking_jobs": (
        "JobHandle",
        "JobPages",
        "Jobs",
    ),
    "inkgate_client.errors": (
        "FileUnreadable",
        "ServiceError",
    ),
    "inkgate_client.extracted": ("Fields",),
    "inkgate_client.files": ("File",),
    "inkgate_client.job_fields": (
        "CorrectionMade",
        "JobFieldsFound",
    ),
    "inkgate_client.jobs": (
        "JobAs",
        "JobListPage",
        "JobPageCounts",
        "JobProblem",
        "JobStatus",
        "JobUnfinished",
    ),
    "inkgate_client.many": (
        "Outcome",
        "read_many",
    ),
    "inkgate_client.reading": (
        "DocumentReader",
        "MemoryReader",
        "RemoteReader",
    ),
    "inkgate_client.requests": (
        "ClientRequest",
        "ReadOptions",
    ),
    "inkgate_client.retries": ("RetryPolicy",),
    "inkgate_client.streams": ("Summary",),
    "inkgate_client.fields.asked": ("WantedFields",),
}


if not TYPE_CHECKING:  # type checkers would believe that every name exists
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
