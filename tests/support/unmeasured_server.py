"""The part of a Server (model_servers/upstream.py) that tests of its calls don't script."""

from __future__ import annotations

from inkgate.model_servers.metrics import ServerReading


class UnmeasuredServer:
    """Serves one model and has no metrics. Subclasses have `base_url`, `send` and `probe`."""

    async def models(self) -> tuple[str, ...]:
        return ("m",)

    async def close(self) -> None:
        """Holds nothing."""

    async def readings(self) -> ServerReading | None:
        return None
