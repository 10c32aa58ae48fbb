"""`inkgate mcp`: tools for agents, over the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from inkgate.cli.messages import misuse, needs_extra, say, start_errors
from inkgate.cli.readers import ReaderOptions, open_reader, reads_documents
from inkgate.cli.serve import check_address, is_loopback

KEY_VARIABLE = "INKGATE_MCP_KEY"
_RETRY_S = 60.0
"""How long a document is offered to a service that is full or gone: agents wait for about a minute."""


@reads_documents("jobs")
def mcp(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at /mcp. Default: standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="With --http: where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="With --http. 0: any.")] = 7862,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--host-name", metavar="NAME", help="With --http: a name by which clients reach it.", show_default=False
        ),
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="Read files below this folder only; may be repeated. Default: all files; with --http: none.",
            show_default=False,
        ),
    ] = None,
    reader: ReaderOptions,
) -> None:
    """Let agents read documents: a server of the Model Context Protocol (MCP), with the engine in this process
    or, with --server, by a service.

    A program such as an editor or a desktop assistant starts it: `inkgate mcp`. Tools: read, page, search, extract,
    verify, document_types.

    With --http, clients must send the key in INKGATE_MCP_KEY, if it is set, as `Authorization: Bearer KEY`. An
    address that other machines can reach needs one.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()  # noqa: TID251 - keys are not for the command line
    if http and not key and not is_loopback(host):
        raise misuse(f"{host} can be reached from the network. Set a key in {KEY_VARIABLE}, or listen on 127.0.0.1.")
    settings = reader.settings()
    with needs_extra("mcp"):
        import mcp.server  # noqa: F401 - says before the models are loaded that it is missing
    if http:
        check_address(host, port)

    import anyio

    from inkgate.cli.interrupts import stop_on_signal
    from inkgate.integrations.mcp.files import AllowedFiles
    from inkgate.integrations.mcp.serve import McpAddress, serve_http, serve_stdio
    from inkgate.integrations.mcp.tools import DocumentTools
    from inkgate.telemetry.logs import configure_logs
    from inkgate_client import ServiceError
    from inkgate_client.retries import RetryPolicy

    configure_logs(settings.log)
    max_bytes = int(settings.limits.max_body_mb * 1_000_000)
    files = AllowedFiles.below(folder or [], max_bytes, anywhere=not http)

    async def run() -> None:
        async with open_reader(reader.servers, reader.key, settings, RetryPolicy(_RETRY_S)) as opened:
            tools = DocumentTools(opened, files)
            if not http:
                await serve_stdio(tools)
                return
            stop = anyio.Event()
            address = McpAddress(host, port, key, tuple(name or ()))
            async with anyio.create_task_group() as tasks:
                await tasks.start(stop_on_signal, stop)
                await serve_http(
                    tools, address, settings, lambda url: say(f"MCP server on {url}. Ctrl-C stops it."), stop
                )
                tasks.cancel_scope.cancel()

    try:
        with start_errors():
            anyio.run(run)
    except ServiceError as error:
        raise misuse(str(error)) from error
