"""A client of a running service: for programs, and for the parts of inkgate that look at it from outside.

    with InkgateClient("http://127.0.0.1:7860") as client:
        result = client.read("scan.pdf", ReadAs(task="parse"))

`AsyncInkgateClient` has the same methods, to be awaited. Whatever goes wrong with a file, on the way, or in the service
is a ServiceError; a file that can't be read is a FileUnreadable, which is one.
"""

from __future__ import annotations

from inkgate.client.awaited import AsyncInkgateClient
from inkgate.client.blocking import InkgateClient
from inkgate.client.errors import FileUnreadable, ServiceError
from inkgate.client.files import File
from inkgate.client.requests import ClientRequest, ReadAs
from inkgate.client.streams import AsyncPages, Pages, Summary

__all__ = [
    "AsyncInkgateClient",
    "AsyncPages",
    "ClientRequest",
    "File",
    "FileUnreadable",
    "InkgateClient",
    "Pages",
    "ReadAs",
    "ServiceError",
    "Summary",
]
