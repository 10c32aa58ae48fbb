"""`inkgate feishu`: a bot for Feishu and Lark."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from inkgate.cli.commands import SERVING, Command
from inkgate.cli.configure import ConfigOption, configured
from inkgate.cli.messages import INTERRUPTED, failure, misuse, say, start_errors

if TYPE_CHECKING:
    from inkgate_feishu.inbox import FeishuInbox
    from inkgate_feishu.serve import FeishuServing

ID_VARIABLE = "INKGATE_FEISHU_APP_ID"
SECRET_VARIABLE = "INKGATE_FEISHU_APP_SECRET"  # noqa: S105 - a name
FILE_VARIABLE = f"{SECRET_VARIABLE}_FILE"
SERVICE_KEY_VARIABLE = "INKGATE_API_KEY"


def feishu(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    service: Annotated[
        str, typer.Option("--server", metavar="URL", help="The running service; its key is in INKGATE_API_KEY.")
    ] = "http://127.0.0.1:7860",
    domain: Annotated[
        str, typer.Option(metavar="feishu|lark|URL", help="Where the app is: Feishu (China), Lark, or another origin.")
    ] = "feishu",
    answer: Annotated[
        str,
        typer.Option(
            "--answer",
            metavar="text|markdown|fields|TYPE",
            help="What chats get that never asked for something else: the text, or the fields of a document type.",
        ),
    ] = "text",
    folder: Annotated[
        Path,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            file_okay=False,
            help="Where messages are kept until they are answered, and what each chat asked for.",
        ),
    ] = Path("inkgate-feishu"),
    at_once: Annotated[
        int, typer.Option("-j", min=1, max=64, metavar="N", help="How many documents to read at once.")
    ] = 8,
    most_mb: Annotated[
        float, typer.Option("--max-mb", min=0.001, max=100.0, metavar="MB", help="Largest file. Feishu allows 100.")
    ] = 50.0,
    config: ConfigOption = None,
) -> None:
    """Answer photos and PDFs in Feishu or Lark chats with their text, or a card with their fields.

    The app's ID and secret are in INKGATE_FEISHU_APP_ID and INKGATE_FEISHU_APP_SECRET, or in a file that
    INKGATE_FEISHU_APP_SECRET_FILE names. The bot connects to Feishu, so it needs no public address. It has documents
    read by jobs of a running service, and keeps corrections there.

    docs/guides/feishu.md says how to set up the app. Ctrl-C finishes the documents that are being read; a second one
    stops at once. Exit status: 0, 1 if Feishu refuses the app, 2 if the arguments are wrong.
    """
    app_id, key = (os.environ.get(name, "").strip() for name in (ID_VARIABLE, SERVICE_KEY_VARIABLE))  # noqa: TID251
    secret = _secret()
    if missing := [name for name, value in ((ID_VARIABLE, app_id), (SECRET_VARIABLE, secret)) if not value]:
        where = "the app's console, Credentials & Basic Info (docs/guides/feishu.md)"
        raise misuse(f"Set {' and '.join(missing)}, from {where}.")
    settings = configured(config, {})
    from inkgate.telemetry.logs import configure_logs
    from inkgate_feishu.bot import MAX_WAITING
    from inkgate_feishu.calls import DOMAINS, FeishuApp
    from inkgate_feishu.inbox import FeishuInbox
    from inkgate_feishu.serve import FeishuServing

    configure_logs(settings.log)
    app = FeishuApp(app_id, secret, DOMAINS.get(domain, domain))
    try:
        inbox = FeishuInbox(folder / "inbox.sqlite", time.time, MAX_WAITING)  # noqa: TID251 - Unix time
    except (OSError, sqlite3.Error) as error:
        raise failure(f"{folder} can't be used: {error}. Does another bot use it?") from error
    try:
        _serve(FeishuServing(app, service, answer, at_once, most_mb, key), inbox)
    finally:
        inbox.close()


def _secret() -> str:
    """The app's secret. Raises typer.Exit: its file can't be read."""
    file = os.environ.get(FILE_VARIABLE, "")  # noqa: TID251 - keys are not for the command line
    try:
        return (Path(file).read_text("utf-8") if file else os.environ.get(SECRET_VARIABLE, "")).strip()  # noqa: TID251
    except (OSError, UnicodeDecodeError) as error:
        raise misuse(f"{FILE_VARIABLE}: {file} can't be read.") from error


def _serve(serving: FeishuServing, inbox: FeishuInbox) -> None:
    """Raises typer.Exit."""
    import anyio

    from inkgate.cli.interrupts import stop_on_signal
    from inkgate_client import AsyncInkgateClient, ServiceError
    from inkgate_client.concurrency import single_error
    from inkgate_feishu.calls import FeishuError
    from inkgate_feishu.connection import FeishuRefused
    from inkgate_feishu.serve import serve_bot

    def connected() -> None:
        say(f"Connected to {serving.app.domain}. Ctrl-C stops.")

    async def run() -> None:
        stop = anyio.Event()
        async with AsyncInkgateClient(serving.service, serving.key) as client, anyio.create_task_group() as tasks:
            said = "Finishing the documents that are being read. Press Ctrl-C again to stop at once."
            await tasks.start(stop_on_signal, stop, said, lambda: os._exit(INTERRUPTED))
            await serve_bot(serving, client, inbox, stop, connected)
            tasks.cancel_scope.cancel()

    try:
        with start_errors(), single_error():
            anyio.run(run)
    except ValueError as error:
        known = "Write feishu, lark, or an origin such as https://open.feishu.cn"
        raise misuse(f"--domain {serving.app.domain}: {error}. {known}.") from error
    except (FeishuError, FeishuRefused) as error:
        said = "Check the app's ID and secret, whether it has a bot, and whether it was published."
        raise failure(str(error), said) from error
    except ServiceError as error:
        raise failure(str(error)) from error


COMMAND: Final = Command(feishu, SERVING)
