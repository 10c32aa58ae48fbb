"""Connections to PostgreSQL that a server which does not respond can't hold for ever.

The server's own time limits do nothing while it is stopped or its disk hangs, and TCP's only see a machine that is
gone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

if TYPE_CHECKING:
    from psycopg import Connection


def limit_waits(engine: Engine, limit_s: Callable[[], float]) -> None:
    """Lets a wait for the server end with OperationalError after `limit_s()`, which is asked again and again. The
    connection is closed then.

    Raises:
        ModuleNotFoundError: psycopg is not installed.
    """
    import psycopg

    class LimitedConnection(psycopg.Connection[Any]):
        """A connection whose waits are limited."""

        def wait(self, gen: Generator[Any, Any, Any], *rest: Any, **more: Any) -> Any:  # noqa: ANN401 - as psycopg's
            return super().wait(_limited(gen, self, limit_s), *rest, **more)

    @event.listens_for(engine, "do_connect")
    def _connect(_: object, __: object, args: list[Any], options: dict[str, Any]) -> Connection[Any]:
        return LimitedConnection.connect(*args, **options)


def _limited(
    steps: Generator[Any, Any, Any], connection: Connection[Any], limit_s: Callable[[], float]
) -> Generator[Any, Any, Any]:
    """`steps` of psycopg, which gets what the socket is ready for: nothing, several times a second, if for nothing."""
    from psycopg import OperationalError

    begun = perf_counter()
    try:
        events = next(steps)
        while True:
            ready = yield events
            if not ready and perf_counter() - begun > limit_s():
                connection.pgconn.finish()  # its state is unknown
                raise OperationalError("the server does not respond")
            events = steps.send(ready)
    except StopIteration as end:
        return end.value
