"""The long connection to Feishu, by the official SDK, in a thread with an event loop of its own.

The SDK keeps its loop in a variable of its module, waits without end in `start`, and has no way to stop. So there is
one connection in a process; it is stopped by an exception that the loop raises; and what ends the SDK's tasks, such as
an app that was removed, is seen by the loop's handler of exceptions.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import orjson
import structlog

from inkgate.supervision import Pauses
from inkgate_feishu.calls import FeishuApp
from inkgate_feishu.sdk import cards, lark, ws

log = structlog.get_logger(__name__)

CLOSE_S: Final = 5.0
_LOGGER = "Lark"
_QUERY = re.compile(r"\?\S+")

Received = Callable[[str, dict[str, Any]], dict[str, Any] | None]
"""Takes the name of an event and the event, in the connection's thread, and returns the answer to a card's button. What
it raises has Feishu send the event again.
"""


class FeishuRefused(Exception):
    """Feishu does not let the app connect."""


class _Stop(SystemExit):
    """Raised in the connection's loop: of all exceptions, loops let only this and KeyboardInterrupt through."""


class FeishuConnection:
    """The connection. One at a time in a process."""

    def __init__(self, app: FeishuApp, received: Received, connected: Callable[[], None]) -> None:
        """`connected` is called, in the thread, whenever a connection is there."""
        self._app = app
        self._received = received
        self._connected = connected
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BaseException | None = None
        self._was_connected = False
        self._stopped = False

    async def run(self) -> None:
        """Stays connected until `stop` is called.

        Raises:
            FeishuRefused: the first connection was refused.
        """
        keep_log_quiet(self._app.secret)
        pauses = Pauses(1.0, 60.0, 60.0)
        while True:
            began = anyio.current_time()
            failure = await self._one_connection()
            if self._stopped:
                return
            said = str(failure) or type(failure).__name__
            if not self._was_connected:
                raise FeishuRefused(said)
            log.error("feishu_connection_failed", error=said)
            await anyio.sleep(pauses.after(anyio.current_time() - began))

    def stop(self) -> None:
        """Ends the connection. `run` returns soon after."""
        self._stopped = True
        self._interrupt()

    async def _one_connection(self) -> BaseException | None:
        ended = anyio.Event()
        loop = asyncio.get_running_loop()

        def serve() -> None:
            try:
                self._serve()
            finally:
                with suppress(RuntimeError):  # nobody waits any more: the loop is closed
                    loop.call_soon_threadsafe(ended.set)

        # Not by Threads: the SDK's request for an address has no timeout, and must not hold up the end of the process.
        threading.Thread(target=serve, name="feishu", daemon=True).start()
        try:
            await ended.wait()
        except BaseException:
            self.stop()
            raise
        return self._failure

    def _serve(self) -> None:
        """Serves in the thread, until the connection fails for good or is stopped."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(self._task_failed)
        self._loop = loop
        ws.loop = loop
        self._failure = None
        client = self._client()
        try:
            if not self._stopped:
                client.start()
        except _Stop:
            pass
        except Exception as error:  # noqa: BLE001 - whatever ends the SDK's connection; `run` decides
            self._failure = error
        finally:
            self._loop = None
            _close(loop, client)

    def _client(self) -> Any:  # noqa: ANN401 - the SDK has no types
        connection = self

        class Client(ws.Client):  # type: ignore[misc] # no types
            """Says when it is connected."""

            async def _connect(self) -> None:
                await super()._connect()
                connection._was_connected = True
                connection._connected()

        def message(event: Any) -> None:  # noqa: ANN401
            self._received("message", orjson.loads(lark.JSON.marshal(event)))

        def press(event: Any) -> Any:  # noqa: ANN401
            answer = self._received("press", orjson.loads(lark.JSON.marshal(event)))
            return cards.P2CardActionTriggerResponse(answer or {})

        handler = lark.EventDispatcherHandler.builder("", "")
        handler = handler.register_p2_im_message_receive_v1(message).register_p2_card_action_trigger(press)
        return Client(
            self._app.id,
            self._app.secret,
            log_level=lark.LogLevel.WARNING,  # its information has the connection's URL, which is a secret
            event_handler=handler.build(),
            domain=self._app.domain,
        )

    def _task_failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A task of the SDK ended with an exception: nothing would connect again."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._failure = error
            self._interrupt()

    def _interrupt(self) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._raise_stop)

    def _raise_stop(self) -> None:
        """Stops the thread, in it: once, for it may be requested several times, and closing must not be interrupted."""
        if self._loop is not None:
            self._loop = None
            raise _Stop


def _close(loop: asyncio.AbstractEventLoop, client: Any) -> None:  # noqa: ANN401 - the SDK has no types
    """Closes the connection, ends the SDK's tasks and closes the loop."""

    async def close() -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if client._conn is not None:  # noqa: SLF001 - there is no other way; the SDK's own channels do the same
            await asyncio.wait_for(client._conn.close(), CLOSE_S)  # noqa: SLF001

    try:
        loop.run_until_complete(close())
    except Exception as error:  # noqa: BLE001 - it is given up either way
        log.warning("feishu_connection_not_closed", error=type(error).__name__)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class _WithoutSecrets(logging.Filter):
    def __init__(self, secret: str) -> None:
        super().__init__()
        self._secret = secret

    def filter(self, record: logging.LogRecord) -> bool:
        said = _QUERY.sub("?...", record.getMessage())
        record.msg, record.args = said.replace(self._secret, "...") if self._secret else said, ()
        return True


def keep_log_quiet(secret: str) -> None:
    """Sends what the SDK logs to our log, without queries of URLs, which hold tickets, and without the secret."""
    logger = logging.getLogger(_LOGGER)
    logger.handlers.clear()  # its own prints on standard output
    logger.filters[:] = [_WithoutSecrets(secret)]
    logger.setLevel(logging.WARNING)
    logger.propagate = True
