"""Fetching by URL: nothing private is reached, by no spelling, name or redirect."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import anyio
import httpcore
import pytest

from inkgate.errors import InputRejected
from inkgate.settings import FetchSettings
from inkgate.storage.fetch import Fetcher, UrlUnreachable, is_public, resolve

pytestmark = pytest.mark.anyio

PUBLIC = "93.184.216.34"


def test_public_addresses() -> None:
    cases = [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "2002:808:808::1"]
    assert [address for address in cases if not is_public(address)] == []


def test_addresses_that_are_not_public() -> None:
    cases = [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",  # noqa: S104 - as an address to be refused
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12:3456::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "64:ff9b:1:a00:0:1::",
        "64:ff9b:1:808:8:800::",
        "64:ff9b:1::808:808",
        "2002:7f00:1::1",
        "2002:a00:1::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "not an address",
        "",
        "2130706433",
    ]
    assert [address for address in cases if is_public(address)] == []


Handler = Callable[[bytes], bytes]


class ReroutingBackend(httpcore.AsyncNetworkBackend):
    """Takes connections that were let through to a server on this machine, and notes where they were meant to go."""

    def __init__(self, port: int) -> None:
        self.asked: list[str] = []
        self._port = port
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.asked.append(f"{host}:{port}")
        return await self._inner.connect_tcp("127.0.0.1", self._port, timeout)


@asynccontextmanager
async def web(handler: Handler) -> AsyncIterator[ReroutingBackend]:
    """A web server that answers each request's head with what `handler` makes of it."""

    async def talk(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            answer = handler(head)
            if answer:
                await stream.send(answer)
            else:
                await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, talk)
        yield ReroutingBackend(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610 - not Django's
        tasks.cancel_scope.cancel()


def ok(body: bytes, *, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (size, body)


def to(location: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


def names(table: dict[str, list[str]]) -> Callable[[str, int], Awaitable[list[str]]]:
    async def look_up(host: str, _: int) -> list[str]:
        if host not in table:
            raise OSError("no such name")
        return table[host]

    return look_up


async def code_of(fetcher: Fetcher, url: str) -> str:
    with pytest.raises(InputRejected) as rejected:
        await fetcher.fetch(url)
    return rejected.value.code


SETTINGS = FetchSettings(enabled=True, timeout_s=5)


async def test_a_public_file_is_fetched_from_the_address_that_was_checked() -> None:
    heads: list[bytes] = []

    def handler(head: bytes) -> bytes:
        heads.append(head)
        return ok(b"the file")

    async with web(handler) as backend:
        fetcher = Fetcher(SETTINGS, 1000, names({"files.example": [PUBLIC]}), backend)
        assert await fetcher.fetch("http://files.example:8080/a%20b?c=d#e") == b"the file"
    assert backend.asked == [f"{PUBLIC}:8080"]
    assert heads[0].startswith(b"GET /a%20b?c=d HTTP/1.1\r\n")
    assert b"Host: files.example:8080\r\n" in heads[0]
    assert b"cookie" not in heads[0].lower()


async def test_nothing_is_fetched_until_it_is_allowed() -> None:
    assert await code_of(Fetcher(FetchSettings(), 1000), "http://files.example/") == "url_forbidden"


async def test_a_check_decides_on_the_url_and_on_each_redirect_instead_of_the_settings() -> None:
    checked: list[str] = []
    heads: list[bytes] = []

    def check(url: str) -> None:
        checked.append(url)
        if "/out/" in url:
            raise InputRejected("source_forbidden", "Not there.")

    def handler(head: bytes) -> bytes:
        heads.append(head)
        step = head.split()[1]
        return to({b"/in/a": "b", b"/in/up": "../out/c"}[step]) if step != b"/in/b" else ok(b"the file")

    async with web(handler) as backend:
        settings = FetchSettings(enabled=False, allow_hosts=("other.example",))
        fetcher = Fetcher(settings, 1000, names({"files.example": [PUBLIC], "inside.example": ["10.0.0.1"]}), backend)
        assert await fetcher.fetch("http://files.example/in/a", check, '"tag"') == b"the file"
        assert checked == ["http://files.example/in/a", "http://files.example/in/b"]
        assert all(b'\r\nIf-Match: "tag"\r\n' in head for head in heads)
        codes = []
        for url in ("http://files.example/out/x", "http://files.example/in/up", "http://inside.example/in/a"):
            with pytest.raises(InputRejected) as rejected:
                await fetcher.fetch(url, check)
            codes.append(rejected.value.code)
    assert codes == ["source_forbidden", "source_forbidden", "url_forbidden"]
    assert set(backend.asked) == {f"{PUBLIC}:80"}


async def test_the_status_of_a_failed_fetch_is_known() -> None:
    async with web(lambda _: b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n") as backend:
        with pytest.raises(UrlUnreachable) as rejected:
            await Fetcher(SETTINGS, 1000, names({"files.example": [PUBLIC]}), backend).fetch("http://files.example/")
    assert rejected.value.http_status == 410
    assert pickle.loads(pickle.dumps(rejected.value)).http_status == 410  # noqa: S301 - its own


PRIVATE_ADDRESSES = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1:22/",
    "https://192.168.0.1/",
    "http://①②⑦.0.0.1/",
]


async def test_private_addresses_are_refused_in_every_spelling() -> None:
    async with web(lambda _: ok(b"secret")) as backend:
        fetcher = Fetcher(SETTINGS, 1000, resolve, backend)
        codes = {url: await code_of(fetcher, url) for url in PRIVATE_ADDRESSES}
    assert {url: code for url, code in codes.items() if code not in {"url_forbidden", "url_unreachable"}} == {}
    assert backend.asked == []


NO_WEB_ADDRESSES = [
    "file:///etc/passwd",
    "ftp://files.example/",
    "gopher://files.example/",
    "http://",
    "http:///path",
    "//files.example/",
    "files.example",
    "http://user:secret@files.example/",
    "http://files.example:99999/",
    "http://[::1",
    "http://files.example\r\nHost: evil/",
    "http://xn--a/",
    "http://xn--/",
    "https://xn--zzzzzzz-.example/",
    "",
]


async def test_what_is_no_plain_web_address_is_refused() -> None:
    async with web(lambda _: ok(b"secret")) as backend:
        fetcher = Fetcher(SETTINGS, 1000, names({"files.example": [PUBLIC]}), backend)
        codes = {url: await code_of(fetcher, url) for url in NO_WEB_ADDRESSES}
    assert codes == dict.fromkeys(NO_WEB_ADDRESSES, "url_forbidden")
    assert backend.asked == []


async def test_a_name_with_any_private_address_is_refused() -> None:
    async with web(lambda _: ok(b"secret")) as backend:
        fetcher = Fetcher(SETTINGS, 1000, names({"mixed.example": [PUBLIC, "10.0.0.1"]}), backend)
        assert await code_of(fetcher, "http://mixed.example/") == "url_forbidden"
    assert backend.asked == []


async def test_a_name_that_changes_its_mind_gains_nothing() -> None:
    answers = [[PUBLIC], ["127.0.0.1"]]

    async def rebinding(_: str, __: int) -> list[str]:
        return answers.pop(0)

    async with web(lambda _: ok(b"the file")) as backend:
        fetcher = Fetcher(SETTINGS, 1000, rebinding, backend)
        # Resolved once for a connection, which goes to the address that was judged.
        assert await fetcher.fetch("http://rebind.example/") == b"the file"
        assert backend.asked == [f"{PUBLIC}:80"]
        assert await code_of(fetcher, "http://rebind.example/") == "url_forbidden"
    assert backend.asked == [f"{PUBLIC}:80"]


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://inside.example/",
        "http://[::1]/",
        "file:///etc/passwd",
        "//169.254.169.254/latest",
        "//xn--a/",
    ],
)
async def test_redirects_are_checked_again(target: str) -> None:
    async with web(lambda _: to(target)) as backend:
        table = {"files.example": [PUBLIC], "inside.example": ["10.1.2.3"]}
        literal = {"127.0.0.1": ["127.0.0.1"], "::1": ["::1"], "169.254.169.254": ["169.254.169.254"]}
        fetcher = Fetcher(SETTINGS, 1000, names({**table, **literal}), backend)
        assert await code_of(fetcher, "http://files.example/") == "url_forbidden"
    assert backend.asked == [f"{PUBLIC}:80"]


async def test_public_redirects_are_followed_but_not_for_ever() -> None:
    def handler(head: bytes) -> bytes:
        step = int(head.split()[1].strip(b"/") or 0)
        return ok(b"found") if step == 3 else to(f"/{step + 1}")

    async with web(handler) as backend:
        look_up = names({"files.example": [PUBLIC]})
        assert await Fetcher(SETTINGS, 1000, look_up, backend).fetch("http://files.example/0") == b"found"
        strict = Fetcher(FetchSettings(enabled=True, max_redirects=2), 1000, look_up, backend)
        assert await code_of(strict, "http://files.example/0") == "url_unreachable"


async def test_only_the_hosts_that_are_named_are_fetched() -> None:
    async with web(lambda _: ok(b"x")) as backend:
        settings = FetchSettings(enabled=True, allow_hosts=("Files.example",))
        look_up = names({"files.example": [PUBLIC], "other.example": [PUBLIC]})
        fetcher = Fetcher(settings, 1000, look_up, backend)
        assert await fetcher.fetch("http://FILES.example/") == b"x"
        assert await code_of(fetcher, "http://other.example/") == "url_forbidden"
        assert await code_of(fetcher, "http://files.example.evil.example/") == "url_forbidden"


async def test_a_host_that_is_named_must_be_public_all_the_same() -> None:
    settings = FetchSettings(enabled=True, allow_hosts=("inside.example",))
    fetcher = Fetcher(settings, 1000, names({"inside.example": ["10.0.0.1"]}))
    assert await code_of(fetcher, "http://inside.example/") == "url_forbidden"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "url_unreachable"),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "url_unreachable"),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "url_unreachable"),
        (b"garbage\r\n\r\n", "url_unreachable"),
        (ok(b"short", length=50), "url_unreachable"),
        (ok(b"x" * 1001), "body_too_large"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000, "body_too_large"),
    ],
)
async def test_answers_that_are_no_file(answer: bytes, code: str) -> None:
    async with web(lambda _: answer) as backend:
        fetcher = Fetcher(SETTINGS, 1000, names({"files.example": [PUBLIC]}), backend)
        assert await code_of(fetcher, "http://files.example/") == code


async def test_a_server_that_hangs_is_given_up() -> None:
    async with web(lambda _: b"") as backend:
        settings = FetchSettings(enabled=True, timeout_s=0.05)
        fetcher = Fetcher(settings, 1000, names({"files.example": [PUBLIC]}), backend)
        assert await code_of(fetcher, "http://files.example/") == "url_unreachable"


async def test_a_name_that_has_no_address() -> None:
    assert await code_of(Fetcher(SETTINGS, 1000, names({})), "http://nowhere.example/") == "url_unreachable"
