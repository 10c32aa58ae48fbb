"""Python as a way in: reads documents in this process, without a server.

    inkgate.read("scan.pdf").markdown          # loads the models, reads one document, frees everything
    inkgate.read("scan.pdf").save("scan.docx")
    inkgate.extract("r.jpg", Receipt).data     # an instance of the pydantic class

    with inkgate.Ocr() as ocr:                 # keeps the models loaded; several threads may read at once
        for outcome in ocr.read_many(paths):
            ...

    async with inkgate.AsyncOcr() as ocr:      # the same for async code
        result = await ocr.read("scan.pdf")

Documents are admitted and read by the Gateway, as over HTTP, but nothing is refused for load: reads wait for each
other. LocalReader is the same as a DocumentReader; the command line uses it, too.
"""

from __future__ import annotations

from inkgate.library.arguments import ExtractArguments, ReadArguments, SettingsSource
from inkgate.library.awaited import AsyncOcr
from inkgate.library.blocking import Ocr, OcrPages
from inkgate.library.finding import FoundText
from inkgate.library.local import LocalReader
from inkgate.library.once import aextract, aread, averify, document_types, extract, read, verify
from inkgate.library.results import DocumentFields, OcrResult
from inkgate_client.files import Source
from inkgate_client.many import Outcome
from inkgate_client.rendered import OcrTable

__all__ = [
    "AsyncOcr",
    "DocumentFields",
    "ExtractArguments",
    "FoundText",
    "LocalReader",
    "Ocr",
    "OcrPages",
    "OcrResult",
    "OcrTable",
    "Outcome",
    "ReadArguments",
    "SettingsSource",
    "Source",
    "aextract",
    "aread",
    "averify",
    "document_types",
    "extract",
    "read",
    "verify",
]
