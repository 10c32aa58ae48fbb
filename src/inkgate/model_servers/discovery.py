"""Model servers found by name: each address of a name in the DNS is a server. Knows no balancer, only names."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import structlog

log = structlog.get_logger(__name__)

PREFIX = "dns+"
"""`dns+http://vllm:8000/v1` means: a server at each address of the host `vllm`."""
_LOOKUP_S = 5.0
_NO_ADDRESS = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})
"""Errors of a name that is known to have no address. Other errors say nothing about the name."""
Addresses = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a host. Raises OSError."""


@dataclass(frozen=True, slots=True)
class ServiceName:
    """A host whose addresses are servers."""

    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str) -> ServiceName:
        """Parses a URL such as `dns+http://vllm:8000/v1`. The port is 80 and the path /v1 if it has none."""
        parts = urlsplit(url.removeprefix(PREFIX))
        return cls(parts.hostname or "", parts.port or 80, parts.path.rstrip("/") or "/v1")

    def url(self, address: str) -> str:
        """The server's URL."""
        return f"http://{f'[{address}]' if ':' in address else address}:{self.port}{self.path}"


async def addresses_of(host: str, port: int) -> Sequence[str]:
    """The IP addresses of a host, each once. Raises OSError."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Discovery:
    """Looks the names up every `every_s`, and adds and retires servers. Its background task is `run`.

    A name that can't be looked up, or has no address, changes nothing for servers that work. If it has no address,
    those that don't are retired: their addresses may soon be somebody else's. At most `max_servers` are used; those
    that are known come first.
    """

    def __init__(
        self,
        names: Iterable[str],
        add: Callable[[str], None],
        retire: Callable[[str], None],
        every_s: float,
        max_servers: int,
        is_healthy: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`names`: URLs with PREFIX. `add`, `retire` and `is_healthy` get the URL of a server."""
        self._found: dict[ServiceName, list[str]] = {ServiceName.of(name): [] for name in names}
        self._add = add
        self._retire = retire
        self._every_s = every_s
        self._max_servers = max_servers
        self._is_healthy = is_healthy
        self._too_many = False
        self.lookup: Addresses = addresses_of

    @property
    def urls(self) -> list[str]:
        """The servers in use."""
        return list(dict.fromkeys(url for urls in self._found.values() for url in urls))

    async def run(self) -> None:
        """Looks the names up until cancelled."""
        while True:
            await self.look()
            await anyio.sleep(self._every_s)

    async def look(self) -> None:
        """Looks the names up once."""
        before = self.urls
        async with anyio.create_task_group() as tasks:
            for name in self._found:
                tasks.start_soon(self._look_up, name)
        self._bound()
        now = self.urls
        for url in before:
            if url not in now:
                self._retire(url)
        for url in now:
            if url not in before:
                self._add(url)

    async def _look_up(self, name: ServiceName) -> None:
        addresses: Sequence[str] = ()
        has_none = False
        try:
            with anyio.fail_after(_LOOKUP_S):
                addresses = await self.lookup(name.host, name.port)
            has_none = not addresses
        except (OSError, TimeoutError) as error:
            has_none = isinstance(error, socket.gaierror) and error.errno in _NO_ADDRESS
            log.warning("model_servers_not_found", host=name.host, error=type(error).__name__)
        if has_none:
            self._found[name] = [url for url in self._found[name] if self._is_healthy(url)]
        if addresses:
            urls = [name.url(address) for address in addresses]
            known = self._found[name]
            # The order of a DNS answer says nothing: known servers stay where they are.
            self._found[name] = [url for url in known if url in urls] + sorted(url for url in urls if url not in known)

    def _bound(self) -> None:
        used = set(self.urls[: self._max_servers])
        too_many = len(self.urls) > self._max_servers
        if too_many and not self._too_many:
            log.warning("too_many_model_servers", found=len(self.urls), used=self._max_servers)
        self._too_many = too_many
        for name, urls in self._found.items():
            self._found[name] = [url for url in urls if url in used]
