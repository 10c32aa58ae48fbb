"""A sink outside of inkgate: a line of JSON for each job, in a file named after it.

[sinks.summaries]
kind = "extension"
make = "summaries"
options = {folder = "/srv/summaries"}
"""

from __future__ import annotations

import json
from typing import Self

import anyio

from inkgate.jobs.job import Delivery
from inkgate.jobs.sinks.base import DeliverLater
from inkgate.settings import ExtensionSinkSettings


class SummaryFiles:
    """A Sink. Delivering a result twice writes the same file twice."""

    def __init__(self, name: str, settings: ExtensionSinkSettings) -> None:
        self._folder = anyio.Path(str(settings.options["folder"]))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def deliver(self, delivery: Delivery) -> None:
        fields = await delivery.fields()
        summary = {"name": delivery.job.name, "data": None if fields is None else fields["data"]}
        try:
            await (self._folder / f"{delivery.job.id}.json").write_text(json.dumps(summary) + "\n")
        except OSError as error:
            raise DeliverLater(f"the file can't be written: {error.strerror}") from error
