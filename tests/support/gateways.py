"""A Gateway to a Reader without limits worth speaking of."""

from __future__ import annotations

from inkgate.service.gateway import Gateway
from inkgate.service.reader import Reader
from inkgate.telemetry.observer import NO_OBSERVER
from support.fixed_limiter import FixedLimiter


def gateway_to(reader: Reader, max_in_flight: int = 100) -> Gateway:
    """The Gateway; it refuses more documents at once than `max_in_flight`."""
    return Gateway(reader, FixedLimiter(max_in_flight, waiting_mb=0.0), NO_OBSERVER)
