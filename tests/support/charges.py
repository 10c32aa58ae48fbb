"""What a request is charged for, counted."""

import anyio


class CountedCharge:
    """A Charge that counts works. Made on an event loop."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self._ended = anyio.Event()

    def begin_work(self) -> None:
        self.begun += 1

    def end_work(self) -> None:
        self.ended += 1
        self._ended.set()

    async def paid(self) -> None:
        """Returns once one work has ended."""
        with anyio.fail_after(30):
            await self._ended.wait()
