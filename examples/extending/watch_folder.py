"""A way in outside of inkgate: reads every document that is put into a folder, as low-priority work.

python examples/extending/watch_folder.py INBOX
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from inkgate.bootstrap import Service, running
from inkgate.caller import Caller, Priority
from inkgate.errors import InkgateError
from inkgate.service.reader import CheckedOptions
from inkgate.settings import load_settings
from inkgate_client.concurrency import Threads
from inkgate_client.types import Document

CALLER = Caller("inbox", Priority.BATCH, priority_given=True)


def unread(folder: Path) -> list[Path]:
    """The documents in `folder` beside which there is no text yet."""
    found = [file for file in sorted(folder.iterdir()) if file.suffix in {".png", ".jpg", ".pdf"}]
    return [file for file in found if not file.with_suffix(".txt").exists()]


async def read(service: Service, file: Path) -> None:
    data = await anyio.Path(file).read_bytes()
    admission = service.gateway.admit(CALLER, len(data))
    async with admission as admitted, admitted.read(Document(data, file.name), CheckedOptions()) as reading:
        result = await reading.all()
    file.with_suffix(".txt").write_text("\n\n".join(page.text for page in result.pages), encoding="utf-8")


async def main(folder: Path) -> None:
    async with running(load_settings()) as service:
        threads = Threads("inbox", 1)
        while True:
            for file in await threads.run(unread, folder):
                try:
                    await read(service, file)
                except InkgateError as error:
                    file.with_suffix(".txt").write_text(str(error), encoding="utf-8")
            await anyio.sleep(1)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
