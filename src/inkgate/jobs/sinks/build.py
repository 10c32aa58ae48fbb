"""Makes the sinks of the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inkgate.jobs.job import WEBHOOK
from inkgate.jobs.machine import check_broker_package
from inkgate.jobs.sinks.base import Sink
from inkgate.jobs.sinks.objects import MakeFile, ObjectNames, ObjectsSink, ObjectWriter
from inkgate.jobs.sinks.table import TableSink
from inkgate.jobs.sinks.topic import TopicSink
from inkgate.jobs.sinks.webhook import WebhookOptions, WebhookSink
from inkgate.settings import (
    ExtensionSinkSettings,
    ObjectsSinkSettings,
    Settings,
    SinkSettings,
    TableSinkSettings,
    TopicSinkSettings,
    WebhookSinkSettings,
)
from inkgate.settings.extensions import SINK_PORT, make_extension
from inkgate_client.concurrency import Threads


def build_sinks(
    settings: Settings, objects: ObjectWriter, clock: Callable[[], float], make_file: MakeFile
) -> Mapping[str, Sink]:
    """The sinks by name, with that of the jobs' own webhooks. `clock`: Unix time. `make_file`: for objects.
    Called on the event loop.

    Raises:
        InputRejected: "feature_unavailable": a package that a sink needs is not installed; "extension_invalid".
    """
    builder = _Builder(settings, objects, clock, make_file)
    webhooks = settings.webhooks
    own = WebhookOptions("", webhooks.secrets, webhooks.timeout_s, allow_hosts=webhooks.allow_hosts)
    sinks: dict[str, Sink] = {WEBHOOK: WebhookSink(own, builder.threads, clock)}
    return sinks | {name: builder.sink(name, one) for name, one in settings.sinks.items()}


class _Builder:
    def __init__(
        self, settings: Settings, objects: ObjectWriter, clock: Callable[[], float], make_file: MakeFile
    ) -> None:
        self._make_file = make_file
        self._settings = settings
        self._objects = objects
        self._clock = clock
        self.threads = Threads("sinks", 2)

    def sink(self, name: str, settings: SinkSettings) -> Sink:
        match settings:
            case WebhookSinkSettings():
                return self._webhook(settings)
            case TableSinkSettings():
                return TableSink(name, settings)
            case TopicSinkSettings():
                return self._topic(name, settings)
            case ObjectsSinkSettings():
                names = ObjectNames(name, self._settings.pipelines)
                return ObjectsSink(name, settings, names, self._objects, self._make_file)
            case ExtensionSinkSettings():
                sink: Sink = make_extension(settings.make, f"sinks.{name}.make", name, settings, port=SINK_PORT)
                return sink

    def _webhook(self, settings: WebhookSinkSettings) -> Sink:
        """The operator's own, which may be at a private address."""
        webhooks = self._settings.webhooks
        options = WebhookOptions(
            settings.url.get_secret_value(),
            settings.secrets or webhooks.secrets,
            webhooks.timeout_s,
            with_result=settings.with_result,
            private=True,
        )
        return WebhookSink(options, self.threads, self._clock)

    def _topic(self, name: str, settings: TopicSinkSettings) -> Sink:
        check_broker_package(f"sinks.{name}", settings.broker)
        return TopicSink(name, settings, self.threads)
