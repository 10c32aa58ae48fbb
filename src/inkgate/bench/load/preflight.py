"""One request before the load, so that a wrong address or key is told at once and in words."""

from __future__ import annotations

from dataclasses import replace

from inkgate.bench.load.arrivals import Ask
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.plan import Load
from inkgate.bench.load.protocols.base import UNLIKE
from inkgate.bench.load.samples import Outcome, Sample
from inkgate.bench.load.sender import Sender
from inkgate.bench.load.target import denied

_NO_SUCH_PLACE = ("404", "405")


async def try_once(load: Load) -> Sample:
    """What becomes of one request with the first page for each key of the mix; the last of them.

    A service that is full, or fails, is not told here: that is what a load test is to show.

    Raises:
        LoadImpossible: nobody listens there, a key is refused, nothing is at that address, or something that answers
            in another form.
    """
    keys = {share.key: number for number, share in enumerate(load.plan.mix)}
    found: Sample | None = None
    async with Sender(replace(load, pages=load.pages[:1])) as sender:
        for share in keys.values():
            found = (await sender.send(Ask(sender.now(), 0, share))).sample
            _judge(load.target.url, found)
    if found is None:
        raise LoadImpossible("Nobody is to ask: the mix is empty.")
    return found


def _judge(url: str, found: Sample) -> None:
    status = found.kind.partition(" ")[0]
    if status in {"401", "403"}:
        raise denied(url)
    if status in _NO_SUCH_PLACE:
        raise LoadImpossible(f"There is nothing to post pages to at {url} ({found.kind}): another path or protocol?")
    if UNLIKE in found.kind:
        raise LoadImpossible(
            f"What {url} answers is {found.kind.partition(' ')[2]}: another --protocol, or another path?"
        )
    if found.outcome is Outcome.FAILED and found.kind in {"connection refused", "no connection"}:
        raise LoadImpossible(f"Nobody listens at {url} ({found.kind}). Is the service running?")
