"""An open-loop workload, generated from a seed in advance, so that every policy gets the same requests."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inkgate.caller import Priority


@dataclass(frozen=True, slots=True)
class PageWork:
    """The work of one page for the engine.

    Attributes:
        output_tokens: length of its text, unknown to policies until it is complete.
    """

    megapixels: float
    image_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Request:
    """One page, requested at `at` (seconds) and worthless after `deadline`."""

    at: float
    page: PageWork
    tenant: str
    flow: str
    priority: Priority
    deadline: float


@dataclass(frozen=True, slots=True)
class Pages:
    """Independent log-normal distributions of sizes and lengths, by median and sigma.

    Sizes stay within HunyuanOCR's 512² to 2048² pixels, lengths within its client's 4096 tokens.
    """

    megapixels: float = 1.0
    megapixels_sigma: float = 0.5
    output_tokens: float = 180.0
    output_tokens_sigma: float = 0.65

    def draw(self, chance: random.Random) -> PageWork:
        megapixels = _lognormal(chance, self.megapixels, self.megapixels_sigma, (0.262, 4.194))
        output = _lognormal(chance, self.output_tokens, self.output_tokens_sigma, (8, 4096))
        # One token for 32 x 32 pixels, one for each row, two around the image (an upright A4 page).
        merged = megapixels * 1e6 / 1024
        return PageWork(megapixels, round(merged + math.sqrt(merged * math.sqrt(2)) + 2), round(output))


REFERENCE = Pages(1.0, 0.0, 220.0, 0.0)
"""The assumed pages behind the figures of card.py: all equal."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A source of requests.

    Attributes:
        rates: requests a second, each from its start time (seconds) to the next; a final 0 stops.
        pages_per_request: pages of a document, requested at once as one flow.
        patience_s: time after which a page is worthless.
    """

    name: str
    rates: Sequence[tuple[float, float]]
    pages: Pages = field(default_factory=Pages)
    priority: Priority = Priority.NORMAL
    pages_per_request: int = 1
    patience_s: float = 10.0


def requests(tenants: Sequence[Tenant], until_s: float, seed: int) -> list[Request]:
    """All requests up to `until_s` in order of time. The same arguments give the same requests."""
    made = [request for tenant in tenants for request in _of(tenant, until_s, random.Random(f"{seed} {tenant.name}"))]
    return sorted(made, key=lambda request: request.at)


def _of(tenant: Tenant, until_s: float, chance: random.Random) -> Iterator[Request]:
    for number, at in enumerate(_arrivals(tenant.rates, until_s, chance)):
        flow = f"{tenant.name}-{number}"
        for _ in range(tenant.pages_per_request):
            page = tenant.pages.draw(chance)
            yield Request(at, page, tenant.name, flow, tenant.priority, at + tenant.patience_s)


def _arrivals(rates: Sequence[tuple[float, float]], until_s: float, chance: random.Random) -> Iterator[float]:
    """Times of a Poisson process whose rate changes in steps."""
    for index, (start, rate) in enumerate(rates):
        end = min(rates[index + 1][0] if index + 1 < len(rates) else math.inf, until_s)
        at = start
        while rate > 0 and (at := at + chance.expovariate(rate)) < end:
            yield at


def _lognormal(chance: random.Random, median: float, sigma: float, within: tuple[float, float]) -> float:
    return min(max(median * math.exp(chance.gauss(0.0, sigma)), within[0]), within[1])
