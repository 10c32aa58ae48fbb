"""A client of a running service: for programs, and for the parts of inkgate that look at it from outside.

    with InkgateClient("http://127.0.0.1:7860") as client:
        result = client.read(Path("scan.pdf"), ReadAs(task="parse"))

`AsyncInkgateClient` has the same methods, to be awaited. Whatever goes wrong is a ServiceError.
"""

from __future__ import annotations

from inkgate.client.awaited import AsyncInkgateClient
from inkgate.client.blocking import InkgateClient
from inkgate.client.errors import ServiceError
from inkgate.client.requests import Ask, ReadAs
from inkgate.client.streams import AsyncPages, Pages, Summary

__all__ = [
    "Ask",
    "AsyncInkgateClient",
    "AsyncPages",
    "InkgateClient",
    "Pages",
    "ReadAs",
    "ServiceError",
    "Summary",
]
