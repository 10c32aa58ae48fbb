"""What a connection may do to the server, spoken as raw bytes to a real socket, on the loop that the service has."""

import json
import socket
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace

import anyio
import pytest
from anyio.abc import SocketAttribute

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate.telemetry.metrics import Metrics
from inkgate_client.types import PageResult, Task
from support.api_client import b64, png, tiff
from support.fake_engine import FakeEngine
from support.served_api import Served, received, served

pytestmark = pytest.mark.anyio

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = (
    b"POST /ocr HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
SOON_S = 0.3
NEVER_S = 600.0


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}


@dataclass
class LongTextEngine(FakeEngine):
    """Reads more on each page than the system keeps for a client that doesn't take it."""

    words: int = 4_000_000

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return replace(await super().read(page, task, caller), text="word " * self.words)


def problem_of(answer: bytes) -> tuple[int, str]:
    """Status and code; everything else that a problem document has is there, too."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert b"connection: close" in head.lower()
    problem = json.loads(body)
    assert all(problem[member] for member in ("title", "detail", "remedy", "request_id"))
    assert problem["request_id"].encode() in head
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    return problem["status"], problem["code"]


async def said(server: Served, *pieces: bytes) -> bytes:
    """What comes back on a connection on which these are sent, until it is closed."""
    async with await server.connect() as connection:
        try:
            for piece in pieces:
                await connection.send(piece)
        except anyio.BrokenResourceError:
            pass  # refused before all was sent
        return await received(connection)


def posted(document: bytes, path: str = "/ocr", version: bytes = b"1.1") -> bytes:
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + document + b"\r\n--b--\r\n"
    head = (
        b"POST %s HTTP/%s\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        b"Content-Length: %d\r\n\r\n"
    )
    return head % (path.encode(), version, len(form)) + form


async def test_heads_are_bounded() -> None:
    piece = b"x" * 20_000
    endless = {
        "header line": (GET, b"X-Long: ", *[piece] * 20),
        "request line": (b"GET /", *[piece] * 20),
        "headers": (GET, *[b"X-Many: 1\r\n" * 1_000] * 20),
        "empty headers": (GET, b"X:\r\n" * 300),
        "all at once": (GET + b"X-Long: " + piece * 20,),
        "trailers": (CHUNKED, b"2\r\n{}\r\n0\r\nX-Long: ", *[piece] * 20),
        "chunk extension": (CHUNKED, b"2;", *[piece] * 20),
    }
    async with served() as server:
        answers = {name: problem_of(await said(server, *pieces)) for name, pieces in endless.items()}
        assert answers == dict.fromkeys(endless, (431, "head_too_large"))
        # Together under the limit; and what follows a head isn't counted with it.
        fits = GET + b"X-Long: " + b"x" * 65_000 + b"\r\nContent-Length: 300000\r\nConnection: close\r\n\r\n"
        assert (await said(server, fits + bytes(300_000))).startswith(b"HTTP/1.1 200 ")
        assert (await said(server, fits[:40_000], fits[40_000:], bytes(300_000))).startswith(b"HTTP/1.1 200 ")


async def test_trailers_change_nothing_of_the_head() -> None:
    async with served() as server, await server.connect() as connection:
        sent = CHUNKED.replace(b"application/json", b"multipart/form-data; boundary=b")
        form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + png() + b"\r\n--b--\r\n"
        await connection.send(sent + b"%x\r\n%b\r\n0\r\nAccept: text/markdown\r\n" % (len(form), form))
        await connection.send(b"X:\r\n" * 300 + b"\r\n" + GET + b"Connection: close\r\n\r\n")
        first, second = (await received(connection)).split(b"HTTP/1.1 200 ")[1:]
        assert b"content-type: application/json" in first
        assert second.endswith(b'{"status":"alive"}')


async def test_what_follows_an_upgrade_that_is_ignored_is_the_next_request() -> None:
    upgrade = GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    last = GET + b"Connection: close\r\n\r\n"
    async with served() as server:
        assert (await said(server, upgrade * 2 + last)).count(b'{"status":"alive"}') == 3
        cut = len(upgrade) + 20
        assert (await said(server, (upgrade + last)[:cut], (upgrade + last)[cut:])).count(b'{"status":"alive"}') == 2


async def test_a_body_is_read_although_an_upgrade_was_offered_with_it() -> None:
    """As Java's HttpClient and `curl --http2` send requests."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    body = json.dumps({"image": b64(png())}).encode()
    post = b"POST /ocr HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + offer
    last = GET + b"Connection: close\r\n\r\n"
    sized = post + b"Content-Length: %d\r\n\r\n" % len(body) + body
    chunked = post + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    async with served() as server:
        for request in (sized, chunked):
            whole = request * 2 + last
            for cut in (0, request.index(b"h2c"), len(request) - 20, len(request) + 10):
                answers = (await said(server, whole[:cut], whole[cut:])).split(b"HTTP/1.1 200 ")[1:]
                assert [b'"lines"' in answer for answer in answers] == [True, True, False]
                assert b'{"status":"alive"}' in answers[-1]
        last = sized.replace(b"Connection: Upgrade", b"Connection: close, Upgrade")
        assert b'"lines"' in await said(server, last)
        empty = post + b"Content-Length: 0\r\n\r\n"
        assert b"HTTP/1.1 400 " in await said(server, empty + GET + b"Connection: close\r\n\r\n")


async def test_a_body_that_was_not_asked_for_ends_the_connection() -> None:
    expecting = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 500\r\n\r\n"
    async with served() as server:
        assert problem_of(await said(server, expecting)) == (404, "route_unknown")


async def test_whatever_answers_instead_of_continue_ends_the_connection() -> None:
    """Such as a preflight request's answer, which no route gives: what follows could be the body or a request."""
    asks = b"Origin: http://a.example\r\nAccess-Control-Request-Method: POST\r\n"
    preflight = b"OPTIONS /ocr HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 500\r\n" + asks
    async with served(cors_origins=["http://a.example"]) as server:
        answer = await said(server, preflight + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close\r\n" in answer


async def test_after_a_body_that_was_asked_for_the_connection_goes_on() -> None:
    expecting = posted(png()).replace(b"localhost\r\n", b"localhost\r\nExpect: 100-continue\r\n")
    head, _, body = expecting.partition(b"\r\n\r\n")
    async with served() as server, await server.connect() as client:
        await client.send(head + b"\r\n\r\n")
        assert await client.receive() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(body + GET + b"Connection: close\r\n\r\n")
        read, alive = (await received(client)).split(b"HTTP/1.1 200 ")[1:]
        assert b"connection: close" not in read
        assert b'{"status":"alive"}' in alive


async def test_heads_are_not_waited_for_forever() -> None:
    async with served(head_timeout_s=SOON_S) as server:
        assert await said(server) == b""
        assert problem_of(await said(server, GET)) == (408, "head_timeout")
        whole = GET + b"Content-Length: 0\r\n\r\n"
        first, _, second = (await said(server, whole, GET)).partition(b'{"status":"alive"}')
        assert first.startswith(b"HTTP/1.1 200 ")
        assert problem_of(second) == (408, "head_timeout")
        # Between two requests a connection may be idle for longer.
        async with await server.connect() as connection:
            for _ in range(2):
                await connection.send(whole)
                assert (await connection.receive()).startswith(b"HTTP/1.1 200 ")
                await anyio.sleep(2 * SOON_S)


async def test_what_is_not_http_is_told_so() -> None:
    wrong = {
        "method": b"FETCH /ocr HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "TLS": bytes.fromhex("16030100a5010000a10303"),
        "header": GET + b"No colon\r\n\r\n",
        "address": b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "length": GET + b"Content-Length: many\r\n\r\n",
        "both lengths": GET + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "chunk": CHUNKED + b"zz\r\n",
    }
    async with served() as server:
        answers = {name: problem_of(await said(server, sent)) for name, sent in wrong.items()}
        assert answers == dict.fromkeys(wrong, (400, "http_invalid"))
        # What came before it is answered, and nothing after.
        answer = await said(server, GET + b"\r\nFETCH / HTTP/1.1\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.count(b"HTTP/1.1") == 1


async def test_idle_connections_give_way_to_new_ones_and_busy_ones_do_not() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine, max_connections=2) as server, anyio.create_task_group() as tasks:
        async with await server.connect() as oldest, await server.connect() as other:
            await other.send(GET)
            assert (await said(server, GET + b"Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            assert await received(oldest) == b""
            await other.send(b"Connection: close\r\n\r\n")
            assert (await received(other)).startswith(b"HTTP/1.1 200 ")

        answers: list[bytes] = []

        async def read() -> None:
            answers.append(
                await said(server, posted(png()).replace(b"localhost\r\n", b"localhost\r\nConnection: close\r\n"))
            )

        for _ in range(2):
            tasks.start_soon(read)
        with anyio.fail_after(60):
            while server.api.limiter.in_flight < 2:  # noqa: ASYNC110 - the limiter has no event to wait for
                await anyio.sleep(0.01)
        refused = await said(server)
        assert problem_of(refused) == (503, "service_full")
        assert b"Retry-After: 1" in refused
        assert engine.gate is not None
        engine.gate.set()
        with anyio.fail_after(60):
            while len(answers) < 2:  # noqa: ASYNC110 - as above
                await anyio.sleep(0.01)
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("only_half", [False, True])
async def test_a_client_that_leaves_cancels_its_work(*, version: bytes, only_half: bool) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine) as server, await server.connect() as client:
        await client.send(posted(png(), version=version))
        await engine.reading.wait()
        await (client.send_eof() if only_half else client.aclose())
        await server.until_ended()
        assert server.api.limiter.ended == {"left": 1}
        assert engine.cancelled == 1


async def test_a_client_that_leaves_with_a_second_request_in_line_cancels_both() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine) as server:
        async with await server.connect() as client:
            await client.send(posted(png()) + posted(png()))
            await engine.reading.wait()
        await server.until_ended()
        assert server.api.limiter.ended == {"left": 1}
        assert len(engine.tasks) == 1


async def test_clients_that_read_nothing_are_cut_off_and_their_places_are_free() -> None:
    engine = LongTextEngine(words=200_000, gate=anyio.Event())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)  # it would take over a whole answer of 1 MB
        async with served(engine, listener=listener, send_timeout_s=4.0) as server, AsyncExitStack() as stack:
            places = server.api.context.settings.limits.max_in_flight
            assert places == 64
            clients = [await stack.enter_async_context(await server.connect()) for _ in range(places)]
            for number, client in enumerate(clients):
                client.extra_attributes[SocketAttribute.raw_socket]().setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVBUF, 4096
                )
                await client.send(posted(tiff(1), "/ocr?format=ndjson" if number % 2 else "/ocr"))
            with anyio.fail_after(60):
                while len(engine.tasks) < places:  # noqa: ASYNC110 - the engine has no event to wait for
                    await anyio.sleep(0.01)
            assert engine.gate is not None
            engine.gate.set()
            assert (await clients[0].receive(64)).startswith(b"HTTP/1.1 200 ")
            full = await server.client.post("/ocr", files={"file": png()})
            assert (full.status_code, full.json()["code"]) == (503, "service_full")
            assert int(full.headers["retry-after"]) > 0
            assert (await server.client.get("/livez")).status_code == 200
            await server.until_ended(places)
            assert sum(entry["event"] == "client_reads_too_little" for entry in server.api.logs) == places
            assert (server.api.limiter.in_flight, server.api.context.drain.in_flight) == (0, 0)
            assert (await server.client.post("/ocr", files={"file": png()})).status_code == 200


async def test_a_slow_client_is_cut_off_when_it_reads_next_to_nothing() -> None:
    async with served(LongTextEngine(), send_timeout_s=1.0) as server, await server.connect() as client:
        client.extra_attributes[SocketAttribute.raw_socket]().setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await client.send(posted(tiff(1)))
        await client.receive(1000)
        with anyio.fail_after(60):
            while not server.api.limiter.ended.total():
                await anyio.sleep(1.5)
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    await client.receive(1400)


async def test_a_client_that_reads_each_piece_too_slowly_is_cut_off_and_counted() -> None:
    """Each line fills the buffer again. The client empties it in less than the time limit, but slower than allowed."""
    metrics, engine = Metrics(), LongTextEngine(words=20_000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        async with served(
            engine, listener=listener, observer=metrics, send_timeout_s=2.0, min_send_kb_s=4000.0
        ) as server:
            client = await server.connect()
            client.extra_attributes[SocketAttribute.raw_socket]().setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            await client.send(posted(tiff(100), "/ocr?format=ndjson"))
            with anyio.fail_after(60):
                while not server.api.limiter.ended.total():
                    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                        await client.receive(65536)
                    await anyio.sleep(0.05)
            assert server.api.limiter.ended == {"left": 1}
            assert [entry["event"] for entry in server.api.logs].count("client_reads_too_little") == 1
    (counted,) = [family for family in metrics.collect() if family.name == "inkgate_slow_readers"]
    assert counted.samples[0].value == 1


async def test_a_stream_that_waits_for_pages_is_not_a_slow_reader() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine, send_timeout_s=0.2, min_send_kb_s=1e6) as server, await server.connect() as client:
        await client.send(posted(tiff(2), "/ocr?format=ndjson").replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        await engine.reading.wait()
        await anyio.sleep(0.5)
        assert engine.gate is not None
        engine.gate.set()
        assert (await received(client)).endswith(b"\r\n0\r\n\r\n")
        assert server.api.limiter.ended == {"ok": 1}


async def test_a_client_that_reads_slowly_gets_all() -> None:
    async with served(LongTextEngine(), send_timeout_s=2.0) as server, await server.connect() as client:
        await client.send(posted(tiff(1)).replace(b"localhost\r\n", b"localhost\r\nConnection: close\r\n"))
        pieces = []
        for _ in range(8):
            await anyio.sleep(0.4)
            piece = b""
            while len(piece) < 2_000_000:
                piece += await client.receive(65536)
            pieces.append(piece)
        pieces.append(await received(client))
        head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert json.loads(body)["text"].startswith("word word ")


async def test_a_client_that_reads_in_bursts_may_rest_for_what_it_read_before() -> None:
    async with (
        served(LongTextEngine(), send_timeout_s=0.5, min_send_kb_s=1000.0) as server,
        await server.connect() as client,
    ):
        await client.send(posted(tiff(1)).replace(b"localhost\r\n", b"localhost\r\nConnection: close\r\n"))
        for rest_s in (1.2, 60.0):
            piece = b""
            while len(piece) < 6_000_000:
                piece += await client.receive(65536)
            with anyio.move_on_after(rest_s):
                while not server.api.limiter.ended.total():  # noqa: ASYNC110 - the limiter sets no event
                    await anyio.sleep(0.05)
            assert server.api.limiter.ended.total() == (rest_s == 60.0)
        assert [entry["event"] for entry in server.api.logs].count("client_reads_too_little") == 1


async def test_the_last_bytes_of_a_response_are_not_waited_for_forever() -> None:
    """They are fewer than the number from which on the application waits for the client."""
    engine = LongTextEngine(words=10_000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        async with served(engine, listener=listener, send_timeout_s=SOON_S) as server, await server.connect() as client:
            raw = client.extra_attributes[SocketAttribute.raw_socket]()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await client.send(posted(png()).replace(b"localhost\r\n", b"localhost\r\nConnection: close\r\n"))
            with anyio.fail_after(60):
                while not any(  # noqa: ASYNC110 - the log has no event to wait for
                    entry["event"] == "client_reads_too_little" for entry in server.api.logs
                ):
                    await anyio.sleep(0.01)


async def test_connections_that_a_failed_test_leaves_open_are_closed() -> None:
    with pytest.raises(AssertionError):
        async with served() as server:
            connection = await server.connect()
            raise AssertionError
    with pytest.raises(anyio.ClosedResourceError):
        await connection.receive()


async def test_a_deadline_that_passes_within_an_upload_is_answered() -> None:
    """Closing the connection at once would reset it, and the client would lose the response."""
    form = posted(b"x" * 2_000_000).replace(b"\r\nHost", b"\r\nX-Inkgate-Timeout: 0.05\r\nHost", 1)
    async with served() as server, await server.connect() as connection:
        await connection.send(form[:100_000])
        await anyio.sleep(SOON_S)
        for at in range(100_000, len(form), 100_000):
            await connection.send(form[at : at + 100_000])
        assert problem_of(await received(connection)) == (408, "deadline_exceeded")
