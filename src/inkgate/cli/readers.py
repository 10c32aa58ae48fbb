"""Who reads for a command: running services, or the engine in this process. One group of options for all commands."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from inkgate.cli.configure import (
    ConfigOption,
    EngineOption,
    VllmModelOption,
    VllmUrlOption,
    configured,
    engine_flags,
    logs_of_command,
)
from inkgate.cli.messages import failure, misuse, say, start_errors
from inkgate.settings import Settings

if TYPE_CHECKING:
    from inkgate_client.errors import ServiceError
    from inkgate_client.fields.asked import WantedFields
    from inkgate_client.reading import DocumentReader
    from inkgate_client.retries import RetryPolicy

T = TypeVar("T")
AT_ONCE = 4
READER = "Who reads"

ServerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="Read by this running service, e.g. http://127.0.0.1:7860; may be repeated. Key: INKGATE_API_KEY or "
        "--key-file.",
        show_default=False,
        rich_help_panel=READER,
    ),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="A file with the service's API key.", rich_help_panel=READER),
]
JobsOption = Annotated[
    int, typer.Option("-j", min=1, max=1024, metavar="N", help="How many documents to read at once.")
]


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """What the options say about who reads.

    Attributes:
        at_once: how many documents are read at the same time.
        servers: URLs of services; empty: the engine in this process.
        key: of the services.
        config: the file of settings.
        flags: of the engine.
    """

    at_once: int = AT_ONCE
    servers: tuple[str, ...] = ()
    key: str = field(default="", repr=False)
    config: Path | None = None
    flags: dict[str, object | None] = field(default_factory=dict)

    def settings(self) -> Settings:
        """Loads the settings of this process. Raises typer.Exit: they are wrong."""
        return configured(self.config, {"engine": self.flags})

    def command_settings(self) -> Settings:
        """The same, for a command that tells failures itself: it logs errors only."""
        settings = self.settings()
        return settings.model_copy(update={"log": logs_of_command(settings)})


def reader_options(  # noqa: PLR0913 - one parameter for each option
    *,
    jobs: JobsOption = AT_ONCE,
    server: ServerOption = None,
    key_file: KeyFileOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> ReaderOptions:
    """The group of options. Raises typer.Exit: they contradict each other, or the key can't be read."""
    from inkgate.cli.doctor import is_address

    servers = tuple(server or ())
    if servers and (engine or vllm_url or vllm_model):
        raise misuse("With --server, the service chooses the engine. Leave out --engine and --vllm-....")
    if key_file and not servers:
        raise misuse("--key-file is for --server.")
    for url in servers:
        if not is_address(url):
            raise misuse(f"{url!r} is not a URL. Use one such as http://127.0.0.1:7860.")
    key = key_in(key_file) if servers else ""
    return ReaderOptions(jobs, servers, key, config, engine_flags(engine, vllm_url, vllm_model))


def key_in(file: Path | None) -> str:
    """The key of a service: in the file, else in INKGATE_API_KEY. Raises typer.Exit: the file can't be read."""
    if file is None:
        return os.environ.get("INKGATE_API_KEY", "").strip()  # noqa: TID251 - keys are no settings
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise misuse(f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8'}.") from error


def reads_documents(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: its parameter `reader` takes the options of `reader_options`, but for some."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        group = inspect.signature(reader_options, eval_str=True).parameters
        named = [group[name] for name in group if name not in without]

        @wraps(command)
        def decorated(**given: Any) -> None:  # noqa: ANN401 - of any option
            chosen = {each.name: given.pop(each.name) for each in named if each.name in given}
            command(**given, reader=reader_options(**chosen))

        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in own.parameters.values()
            if each.name != "reader"
        ]
        parameters += named
        decorated.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        decorated.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}
        return decorated

    return decorate


@asynccontextmanager
async def open_reader(
    servers: tuple[str, ...], key: str, settings: Settings | None, policy: RetryPolicy | None = None
) -> AsyncIterator[DocumentReader]:
    """The reader: of `servers`, else of this process with `settings`. Raises ReadError: it can't be used."""
    if settings is None or servers:
        from inkgate_client.reading import RemoteReader

        async with RemoteReader.of(servers, key, policy) as remote:
            yield remote
        return
    # Imported here: a process that sends documents to services needs no engine.
    from inkgate.library.local import LocalReader

    async with LocalReader(settings) as local:
        yield local


def say_gone(gone: Iterable[ServiceError]) -> None:
    """Prints which of several services can't be used."""
    for each in gone:
        say(f"{each} The other services read.")


@asynccontextmanager
async def reader_of(options: ReaderOptions, wanted: WantedFields | None = None) -> AsyncIterator[DocumentReader]:
    """The reader that the options name, once it can be used and `wanted` was checked.

    Raises:
        ReadError: the engine did not start, the service can't be reached, or what is wanted can't be used.
        typer.Exit: the service does not have the document type.
    """
    if options.servers:
        from inkgate_client.reading import RemoteReader

        async with RemoteReader.of(options.servers, options.key) as remote:
            types, gone = await remote.check()
            say_gone(gone)
            if wanted is not None and wanted.type and wanted.type not in types:
                raise misuse(f"The service has no document type {wanted.type!r}: {', '.join(sorted(types))}.")
            yield remote
        return
    from inkgate.cli.progress import status
    from inkgate.extraction.finder import field_finder
    from inkgate.extraction.wanted import wanted_fields
    from inkgate.telemetry.logs import configure_logs

    settings = options.command_settings()
    configure_logs(settings.log)
    if wanted is not None:
        wanted_fields(wanted, field_finder(settings).types)
    async with AsyncExitStack() as stack:
        with status("Loading the models"):
            local = await stack.enter_async_context(open_reader((), "", settings))
        yield local


def run_with_reader(
    options: ReaderOptions,
    work: Callable[[DocumentReader], Awaitable[T]],
    wanted: WantedFields | None = None,
    before: Callable[[], Sequence[str]] = list,
) -> T:
    """The result of `work`, in an event loop of its own. `before`: lines to print if a service can't be used any more.

    Raises:
        typer.Exit: an option is wrong, the engine did not start, or the service can't be used.
    """
    import anyio

    from inkgate_client import ServiceError
    from inkgate_client.concurrency import single_error

    async def run() -> T:
        async with reader_of(options, wanted) as reader:
            return await work(reader)

    try:
        with start_errors(), single_error():
            return anyio.run(run)
    except ServiceError as error:
        raise failure(str(error), *before()) from error
