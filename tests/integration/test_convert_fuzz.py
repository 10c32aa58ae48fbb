"""`POST /ui/api/convert` with documents near the schema: each gets a file or an error of the caller's, soon and within
little memory. `INKGATE_CONVERT_EXAMPLES=10000` runs as many, and `-s` shows what it took.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.api_client import running_api
from support.processes import children
from support.published import documents

EXAMPLES = int(os.environ.get("INKGATE_CONVERT_EXAMPLES", "60"))
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600 + EXAMPLES)]
FORMATS = ("text", "markdown", "json", "hocr", "alto", "csv", "mermaid", "chunks", "docx", "xlsx")
MAX_GROWTH_MB = 200
MAX_CPU_S = 5
BLANK = {"name": "", "mime_type": "", "byte_count": 0, "page_count": 0, "engine": "", "pages": [], "schema_version": 1}


def peak_mb(pid: int) -> float:
    """The most resident memory that a process has had."""
    try:
        return int(Path(f"/proc/{pid}/status").read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):  # a worker that was replaced after its 200 calls
        return 0.0


def cpu_s() -> float:
    """Processor time of this process and of its children that have ended, and of those that run."""
    ticks = 0
    for pid in children():
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    times = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") + times.user + times.system + times.children_user + times.children_system


@dataclass
class Converting:
    """A service, and what its answers took.

    Attributes:
        others: processes that are no workers of it.
        start_mb: memory of a worker that has written each format.
    """

    client: httpx.AsyncClient
    others: set[int]
    start_mb: float = math.inf
    statuses: Counter[tuple[int, str]] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    costliest: tuple[float, str] = (0.0, "")
    growth_mb: float = 0.0

    @property
    def peak_mb(self) -> float:
        """The most resident memory that one of its workers has had."""
        return max(map(peak_mb, children() - self.others), default=0.0)

    async def convert(self, document: dict[str, object], shape: str, *, marks: bool) -> None:
        body = json.dumps(document).encode()
        begun, begun_cpu = perf_counter(), cpu_s()
        address = f"/ui/api/convert?format={shape}&marks={json.dumps(marks)}"
        answer = await self.client.post(address, content=body)
        self.slowest = max(self.slowest, (perf_counter() - begun, shape))
        self.costliest = max(self.costliest, (cpu_s() - begun_cpu, shape))
        self.growth_mb = max(self.growth_mb, self.peak_mb - self.start_mb)
        code = answer.json()["code"] if answer.status_code != 200 else ""
        self.statuses[answer.status_code, code] += 1
        assert (answer.status_code, code) in {(200, ""), (422, "options_invalid")}, body
        assert self.growth_mb <= MAX_GROWTH_MB, body
        assert self.costliest[0] <= MAX_CPU_S, body


@pytest.fixture(scope="module")
async def converting() -> AsyncIterator[Converting]:
    async with running_api(pdf={"workers": 1, "write_timeout_s": 60, "worker_memory_mb": 1000}) as api:
        running = Converting(api.client, children())
        for shape in FORMATS:
            await running.convert(BLANK, shape, marks=False)
        running.start_mb = running.peak_mb
        yield running
        print(
            dict(running.statuses),
            f"slowest {running.slowest}, most CPU {running.costliest}, growth {running.growth_mb:.0f} MB",
        )


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(document=documents(), shape=st.sampled_from(FORMATS), marks=st.booleans())
async def test_what_a_client_sends_is_converted_or_refused(
    converting: Converting, document: dict[str, object], shape: str, marks: bool
) -> None:
    with anyio.fail_after(70):
        await converting.convert(document, shape, marks=marks)
