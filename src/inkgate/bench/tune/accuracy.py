"""How accurately a service reads documents whose text is known: what faster settings may cost."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate import __version__
from inkgate.bench.accuracy.candidates import Transcript, transcript
from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.accuracy.scores import score
from inkgate.bench.tune.parameters import QUALITY
from inkgate.bench.tune.results import Settings, Value
from inkgate.client import AsyncInkgateClient, ReadAs

MOST_DOCUMENTS = 40
"""Chosen evenly among more: to read all of them would take the time of the search."""
_AT_ONCE = 4


class AccuracyCheck:
    """Shares of characters read correctly, measured once for all settings that read alike."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """`entries`: those without a true text are left out."""
        scored = [entry for entry in entries if entry.text is not None]
        step = max(1.0, len(scored) / MOST_DOCUMENTS)
        self.entries = tuple(scored[int(number * step)] for number in range(min(len(scored), MOST_DOCUMENTS)))
        self._known: dict[tuple[tuple[str, Value], ...], float] = {}

    async def of(self, url: str, settings: Settings) -> float:
        """1 minus the character error rate of all documents together, as the service at `url` reads them."""
        alike = tuple((path, settings[path]) for path in sorted(QUALITY & settings.keys()))
        if alike not in self._known:
            self._known[alike] = await self._measure(url)
        return self._known[alike]

    async def _measure(self, url: str) -> float:
        async with AsyncInkgateClient(url) as client:
            scores = await score(_ServiceCandidate(client), self.entries, lambda _name, _entry: None)
        errors = [file.errors for file in scores.files if file.errors is not None]
        characters = sum(each.characters for each in errors)
        return 1 - sum(each.edits for each in errors) / characters if characters else 1.0


class _ServiceCandidate:
    """The service as a Candidate."""

    name = "service"
    version = __version__
    parallel = _AT_ONCE

    def __init__(self, client: AsyncInkgateClient) -> None:
        self._client = client

    async def read(self, entry: Entry) -> Transcript:
        """Reads it as text. Raises ServiceError."""
        return transcript(await self._client.read(entry.file, ReadAs()))
