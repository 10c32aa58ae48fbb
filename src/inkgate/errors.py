"""What can go wrong, as one tree by what the caller should do.

    InkgateError
      InputRejected   change the request, then try again                       4xx
      Overloaded      come back after `retry_after_s`                          429 (your share), 503 (the service)
      EngineFailed    nothing you did; try again later or elsewhere            502, 504

Every error has a stable `code`. `CODES` is the only list of them: their HTTP status, whose fault they are, what they
mean and what to do. Other modules ask an error for its `blame` and whether it is `transient`, or for its class where
one code means something of its own. docs/reference/errors.md is generated from the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

from inkgate_client.types import PageError, ReadError


class Blame(StrEnum):
    """The party that is at fault for an error.

    CALLER: the request, its key, its share or its time limit: another request would be answered.
    PAGE: the page or its document: other pages are read. Several different pages in a row contradict that; see Breaker.
    SERVER: the model server or another server behind the service: every page fails until it recovers.
    SERVICE: the service itself: it is full, stops, is out of time, lacks a setting or has a bug. It says nothing about
        page or server.
    """

    CALLER = "caller"
    PAGE = "page"
    SERVER = "server"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Code:
    """What an error code means.

    Attributes:
        status: of the HTTP response.
        blame: where the fault lies.
        title, remedy: for problem documents: what happened, and what to do.
        transient: the same request may succeed later, with nothing changed by the caller.
        retry_after_s: seconds after which to retry, unless the error has its own: a dead server is restarted, a stalled
            one must be detected first.
        command_line: the remedy for the command line, where it differs.
        openai: OpenAI's code for it, which OpenAI's clients compare; empty: OpenAI has none.
    """

    status: int
    blame: Blame
    title: str
    remedy: str
    transient: bool = False
    retry_after_s: float | None = None
    command_line: str = ""
    openai: str = ""


_CALLER, _PAGE, _SERVER, _SERVICE = Blame

# fmt: off
_INPUT: dict[str, Code] = {
    "request_malformed": Code(400, _CALLER, "The request could not be parsed",
        "Compare the body with the examples on /docs."),
    "json_invalid": Code(400, _CALLER, "The body is not valid JSON",
        "Send valid JSON in UTF-8 with Content-Type: application/json."),
    "body_too_complex": Code(413, _CALLER, "The body has too many values",
        "Send the file as base64 or as a part of a form, and no other long lists."),
    "base64_invalid": Code(400, _CALLER, "The image is not valid base64",
        "Encode the file's bytes as standard base64, without line breaks."),
    "file_missing": Code(400, _CALLER, "No file was sent",
        "Send the file as the multipart part `file`, or as base64 in JSON."),
    "options_invalid": Code(422, _CALLER, "An option or its value is not allowed",
        "See /docs for the values an option takes."),
    "pages_invalid": Code(422, _CALLER, "The page selection does not fit the document",
        "Give pages as 1-3,7 within the document."),
    "schema_invalid": Code(422, _CALLER, "The schema of the fields can't be used",
        "Send the JSON Schema of an object."),
    "type_unknown": Code(422, _CALLER, "There is no such document type",
        "GET /document-types lists them; or send a `schema`.", command_line="`inkgate types` shows them."),
    "schema_too_large": Code(413, _CALLER, "The schema of the fields is too large",
        "Ask for at most 300 fields in 64 KB."),
    "document_empty": Code(400, _PAGE, "The file is empty", "Send the file's bytes; this one has none."),
    "type_unsupported": Code(415, _PAGE, "This file type is not supported",
        "Send JPEG, PNG, WebP, TIFF, BMP, GIF, AVIF, HEIC or PDF."),
    "image_corrupt": Code(422, _PAGE, "The image is damaged",
        "Open it in a viewer, save it again, and send the new file."),
    "image_too_large": Code(413, _PAGE, "The image has too many pixels",
        "Scale it down, or raise `limits.max_pixels`."),
    "image_too_narrow": Code(422, _PAGE, "The image is too long for its width",
        "Cut it into pieces, or leave out the margin along its long sides."),
    "pdf_corrupt": Code(422, _PAGE, "The PDF is damaged",
        "Repair it (for example print it to a new PDF), and send that."),
    "pdf_encrypted": Code(422, _CALLER, "The PDF needs a password",
        "Give it as `password` in the body, or remove the encryption; then send it again.",
        command_line="Pass it with --password, or remove the encryption."),
    "pdf_password_wrong": Code(422, _CALLER, "The PDF's password is wrong",
        "Give the password that a viewer opens the file with as `password` in the body.",
        command_line="Pass the password that opens the file in a viewer, with --password."),
    "pdf_empty": Code(422, _PAGE, "The PDF has no pages", "Send a PDF that has at least one page."),
    "page_broken": Code(422, _PAGE, "The page could not be rendered",
        "Repair the file, or skip this page with `pages`."),
    "page_memory": Code(422, _PAGE, "The page needed too much memory",
        "Simplify the page, or raise `pdf.worker_memory_mb`."),
    "too_many_pages": Code(413, _CALLER, "The document has too many pages",
        "Ask for fewer with `pages`, or split the document."),
    "body_too_large": Code(413, _CALLER, "The body is larger than allowed",
        "Send a smaller file, or raise `limits.max_body_mb`."),
    "body_timeout": Code(408, _CALLER, "The body did not arrive in time",
        "Send the body without pauses; check the connection.", transient=True),
    "head_too_large": Code(431, _CALLER, "The request line and headers are too large",
        "Send less in headers and URL; documents go in the body."),
    "head_timeout": Code(408, _CALLER, "The request line and headers did not arrive in time",
        "Send them without pauses; check the connection.", transient=True),
    "http_invalid": Code(400, _CALLER, "The request is not valid HTTP",
        "Send HTTP/1.1; check the client, and the proxies between it and the service."),
    "media_type_unsupported": Code(415, _CALLER, "The Content-Type is not accepted here",
        "Send application/json or multipart/form-data."),
    "not_acceptable": Code(406, _CALLER, "The format asked for does not exist",
        "Ask for text, markdown, json, hocr, alto, csv, mermaid, chunks, pdf, docx or xlsx."),
    "url_forbidden": Code(403, _CALLER, "The URL may not be fetched",
        "Send the file itself, or allow its host in `fetch`."),
    "url_unreachable": Code(422, _CALLER, "The URL could not be fetched",
        "Check that the URL answers 200 with the file itself."),
    "upstream_rejected": Code(422, _PAGE, "The model server refused the request",
        "Shorten the prompt, scale the page down, or leave out what is named above. The log has the server's message."),
    "context_length_exceeded": Code(422, _PAGE, "With its answer, the prompt is too long for the model",
        "Shorten the prompt, scale the page down, or start the model server with a larger --max-model-len."),
    "image_refused": Code(422, _PAGE, "The model server can't read the image",
        "Send a whole JPEG, PNG or WebP file as base64 in a data: URL.", openai="invalid_image"),
    "content_quarantined": Code(422, _PAGE, "This page made the engine crash before",
        "Scan the page again, or retry much later. Other pages are read normally."),
    "task_unsupported": Code(422, _CALLER, "The engine can't do this task", "Choose another task, or another engine."),
    "engine_incomplete": Code(422, _SERVICE, "A setting of the engine is missing",
        "Set what is named above; see docs/reference/settings.md."),
    "extension_invalid": Code(422, _SERVICE, "An engine, policy or sink of your own can't be used",
        "Correct what is named above; see docs/guides/extending.md."),
    "engine_unknown": Code(404, _CALLER, "There is no such engine or model",
        "Leave `model` out, or name one that /v1/models lists.",
        command_line="Name one of them with --engine, or as engine.name in the settings.", openai="model_not_found"),
    "feature_unavailable": Code(501, _CALLER, "This is not available",
        "Leave it out of the request, or have it set up in the service."),
    "chat_unavailable": Code(501, _CALLER, "This service answers no chats",
        "POST the document to /ocr or /v1/ocr, or start inkgate with an engine that uses a model server, such as "
        "`--engine paddleocr-vl`."),
    "file_unknown": Code(404, _CALLER, "There is no such file",
        "Upload it first; files are kept for an hour. Several gateways need one `jobs.database`."),
    "unauthenticated": Code(401, _CALLER, "An API key is needed",
        "Send `Authorization: Bearer <key>` with a key of this service; its operator makes one with `inkgate key`.",
        openai="invalid_api_key"),
    "host_forbidden": Code(403, _CALLER, "The service does not answer to this host name",
        "Call it as localhost or by its IP address, add the name to `server.allowed_hosts`, or set an API key."),
    "origin_forbidden": Code(403, _CALLER, "Web pages of other sites must not call this service",
        "Add the page's origin to `server.cors_origins`, or set an API key."),
    "deadline_exceeded": Code(408, _CALLER, "The client's own timeout expired",
        "Raise `X-Inkgate-Timeout`, or request fewer pages."),
    "job_unknown": Code(404, _CALLER, "There is no such job",
        "List your jobs with GET /v1/jobs; ended ones are kept for a while."),
    "job_not_ended": Code(409, _CALLER, "The job has not ended yet",
        "Ask again when its state has changed, or read its pages.", transient=True),
    "job_ended": Code(409, _CALLER, "The job has ended already",
        "Read its result; to read the document again, add a new job."),
    "job_cancelled": Code(409, _CALLER, "The job was cancelled", "Add it again to read the document."),
    "job_expired": Code(410, _CALLER, "The job's result is no longer kept",
        "Add the job again; `jobs.retention_days` is the time."),
    "fields_missing": Code(404, _CALLER, "The job has no fields",
        "Add a job with `extract`; fields are removed with its result."),
    "fields_changed": Code(412, _CALLER, "The fields were changed meanwhile",
        "Get the fields again, and send the correction with their new ETag."),
    "version_missing": Code(428, _CALLER, "The correction does not say what it is about",
        "Send the ETag of the fields as the header If-Match."),
    "key_reused": Code(422, _CALLER, "The idempotency key was used for another request",
        "Send a new key, or the same request as before."),
    "source_forbidden": Code(403, _CALLER, "The source may not be read",
        "Use a source below a prefix in the settings, or upload."),
    "source_missing": Code(404, _CALLER, "The source does not exist",
        "Check that the object is there, then add the job again."),
    "source_replaced": Code(409, _CALLER, "The source was replaced before it was read",
        "Nothing; the event of the new object has a job of its own."),
    "webhook_forbidden": Code(422, _CALLER, "The webhook can't be used",
        "Name a public https URL, and set `webhooks.secrets` in the service."),
    "event_invalid": Code(422, _CALLER, "The event has no known form",
        "See docs/guides/events.md for the forms of events."),
    "document_quarantined": Code(422, _PAGE, "The document ended its reader's process",
        "Repair it, or ask for its pages one by one with `pages`."),
    "route_unknown": Code(404, _CALLER, "There is nothing at this address",
        "POST documents to /ocr; /docs lists the rest."),
    "method_not_allowed": Code(405, _CALLER, "This address takes another method",
        "POST documents to /ocr; see /docs."),
}

_OVERLOAD: dict[str, Code] = {
    "rate_limited": Code(429, _CALLER, "Too many requests", "Wait as long as Retry-After says.",
        transient=True),
    "service_full": Code(503, _SERVICE, "The service is full",
        "Wait as long as Retry-After says, then send the same request again.", transient=True),
    "engine_breaker_open": Code(503, _SERVER, "The engine is paused after failures",
        "Wait as long as Retry-After says; /readyz and the log say why.", transient=True),
    "share_exceeded": Code(429, _CALLER, "You use more than your share while others wait",
        "Wait as long as Retry-After says, or send fewer documents at once.", transient=True),
    "jobs_full": Code(503, _SERVICE, "The queue of jobs is full",
        "Wait as long as Retry-After says, then add the job again.", transient=True),
    "jobs_unavailable": Code(503, _SERVICE, "Jobs and uploads can't be kept at the moment",
        "Wait as long as Retry-After says; other requests are served meanwhile.", transient=True),
    "storage_full": Code(507, _SERVICE, "No space is left for jobs and uploads",
        "Free space on the service's disk; ended jobs can be removed.", transient=True),
    "starting": Code(503, _SERVER, "The model server is not there yet",
        "Wait as long as Retry-After says; /readyz says why.", transient=True),
    "draining": Code(503, _SERVICE, "The service is shutting down",
        "Send the request again; another instance will take it.", transient=True),
}

_ENGINE: dict[str, Code] = {
    "engine_failed": Code(502, _PAGE, "The engine failed on this page",
        "Try again. If it fails again, report it with the request ID.",
        command_line="Try again. If it fails again, report it."),
    "service_timeout": Code(504, _SERVICE, "The service's time limit expired",
        "Try again. If it happens again, request fewer pages, or raise `limits.time_s`.", transient=True),
    "page_timeout": Code(504, _SERVICE, "The page took too long to render",
        "Try again. If it happens again, simplify the page, or raise `pdf.page_timeout_s` or `pdf.write_timeout_s`."),
    "engine_output_invalid": Code(502, _PAGE, "The model's answer could not be parsed",
        "Try again. If it happens again, choose another task or engine."),
    "engine_unavailable": Code(503, _SERVICE, "The engine is not ready", "Try again shortly; /readyz says why.",
        transient=True, retry_after_s=10, command_line="Try again."),
    "engine_not_installed": Code(503, _SERVICE, "The engine's packages are not installed",
        "Install the extra that is named above, then start the service again."),
    "system_not_supported": Code(503, _SERVICE, "This system can't read documents itself",
        "Run inkgate on Linux, macOS or WSL 2, or let a service there read: `--server URL`, or inkgate-client."),
    "weights_missing": Code(503, _SERVICE, "The model's weights were not found",
        "Put them into a folder and name it in `engine.transformers.model`, or set `engine.transformers.download`."),
    "layout_model_unusable": Code(503, _SERVICE, "The layout model can't be used",
        "Name a file of PP-DocLayoutV2 or V3 (docs/guides/choosing-a-model.md) in `engine.layout.model`, or leave it "
        "empty."),
    "provider_unavailable": Code(503, _SERVICE, "ONNX Runtime can't use this device",
        "Install what is named above (docs/guides/several-gpus.md), or set `engine.ppocr.onnxruntime.provider` to "
        "`cpu`."),
    "model_unusable": Code(503, _SERVICE, "The model can't be run here",
        "Read the reason above; check `model`, `device` and `dtype` in `engine.transformers`."),
    "upstream_unreachable": Code(502, _SERVER, "The model server can't be reached",
        "Start it, or correct `engine.vllm.urls`. Then try again.", transient=True, retry_after_s=10),
    "upstream_denied": Code(502, _SERVER, "The model server refused inkgate's API key",
        "Set `engine.vllm.api_key` to the server's key."),
    "upstream_busy": Code(503, _SERVICE, "The model server accepts no more requests",
        "Try again shortly, or lower the load.", transient=True, retry_after_s=2),
    "upstream_failed": Code(502, _SERVER, "The model server failed", "Try again; its own log says why.", transient=True,
        retry_after_s=5),
    "upstream_garbled": Code(502, _SERVER, "The model server's answer is not a chat completion",
        "Check that `engine.vllm.urls` lead to vLLM, with /v1 at the end."),
    "upstream_cut_off": Code(502, _SERVER, "The model server's answer broke off",
        "Try again; its own log says whether it died.", transient=True, retry_after_s=5),
    "upstream_stalled": Code(504, _SERVER, "The model server stopped making progress",
        "Try again. If the server is only slow, raise `engine.vllm.first_token_s`.", transient=True, retry_after_s=30),
    "model_unknown": Code(502, _SERVER, "The model server has no such model",
        "Set `engine.vllm.model` to a name that the server lists."),
    "output_truncated": Code(502, _PAGE, "The answer reached its token limit",
        "Use the partial text, or raise `max_tokens` of the engine."),
    "output_repeats": Code(502, _PAGE, "The model repeated itself on this page",
        "Use the partial text, scan the page again, or read it with `ppocr`."),
    "elements_failed": Code(502, _PAGE, "Parts of the page were not read",
        "Use the partial text; `blocks` say which parts are missing and why."),
    "source_unreachable": Code(502, _SERVER, "The source could not be read",
        "Try again; check the object store's address and keys.", transient=True),
    "internal": Code(500, _SERVICE, "Internal error", "Try again. If it happens again, report it with the request ID.",
        command_line="Try again. If it happens again, report it."),
}
# fmt: on

CODES: dict[str, Code] = _INPUT | _OVERLOAD | _ENGINE


class InkgateError(ReadError):
    """An error with a stable code. `detail` may be shown to clients: nothing internal goes into it.

    As OSError does with an errno, the constructor makes an instance of the class that `code` belongs to:
    `EngineFailed("upstream_stalled", "...")` is an AnswerLost.

    Attributes:
        retry_after_s: seconds after which to retry; None if unknown.
    """

    _classes: ClassVar[dict[str, type[InkgateError]]] = {}
    _has_codes: ClassVar[bool] = False

    def __init_subclass__(cls, codes: Iterable[str] = ()) -> None:
        cls._has_codes = bool(codes)
        cls._classes.update(dict.fromkeys(codes, cls))

    def __new__(cls, *args: object, **_: object) -> Self:
        known = cls._classes.get(str(args[0])) if args else None
        return super().__new__(known if known is not None and issubclass(known, cls) else cls)

    def __init__(self, code: str, detail: str) -> None:
        known = self._classes.get(code)
        if known is None or not isinstance(self, known) or (self._has_codes and type(self) is not known):
            raise ValueError(f"{code!r} is not a code of {type(self).__name__}")
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        known_code = CODES[code]
        self.status: int = known_code.status
        self.title, self.remedy = known_code.title, known_code.remedy
        self.retry_after_s = known_code.retry_after_s

    @property
    def blame(self) -> Blame:
        return CODES[self.code].blame

    @property
    def transient(self) -> bool:
        return CODES[self.code].transient

    def as_page_error(self) -> PageError:
        """The same, as the error of one page."""
        return PageError(self.code, self.detail, self.remedy)

    def __reduce__(self) -> tuple[type[InkgateError], tuple[object, ...]]:
        return type(self), (self.code, self.detail)


class InputRejected(InkgateError, codes=_INPUT):
    """The caller must change the request."""


class TaskUnsupported(InputRejected, codes=["task_unsupported"]):
    """The engine can't do the task; another one may."""


class RequestRefused(InputRejected, codes=["upstream_rejected", "context_length_exceeded", "image_refused"]):
    """The model server refused the request as it is; it may accept another."""


class BodyTooLarge(InputRejected, codes=["body_too_large"]):
    """The file has too many bytes."""


class SourceMissing(InputRejected, codes=["source_missing"]):
    """The object does not exist."""


class KeyReused(InputRejected, codes=["key_reused"]):
    """The idempotency key belongs to another request."""


class FieldsMissing(InputRejected, codes=["fields_missing"]):
    """The job has no fields."""


class Overloaded(InkgateError, codes=_OVERLOAD):
    """The caller should come back in `retry_after_s` seconds.

    Attributes:
        slot_s: seconds until the next refused one may come after it, where the refusal knows.
    """

    retry_after_s: float
    slot_s: float | None = None

    def __init__(self, code: str, detail: str, retry_after_s: float) -> None:
        super().__init__(code, detail)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[Overloaded], tuple[object, ...]]:
        return type(self), (self.code, self.detail, self.retry_after_s)

    def as_page_error(self) -> PageError:
        return PageError(self.code, self.detail, self.remedy, self.retry_after_s)


class ServiceFull(Overloaded, codes=["service_full"]):
    """The service can take no more requests."""


class RateLimited(Overloaded, codes=["rate_limited"]):
    """The caller sent too many requests."""


class ShareExceeded(Overloaded, codes=["share_exceeded"]):
    """The caller uses more than its share while others wait."""


class NotStarted(Overloaded, codes=["starting"]):
    """The engine has not started. Nothing was sent to a model server."""


class Draining(Overloaded, codes=["draining"]):
    """The service shuts down."""


class EngineFailed(InkgateError, codes=_ENGINE):
    """The engine, or the service, failed; the request was fine."""


class ServiceTimeout(EngineFailed, codes=["service_timeout"]):
    """The service's own time limit expired."""


class AnswerLost(EngineFailed, codes=["upstream_cut_off", "upstream_stalled"]):
    """The model server failed within its answer. Another server, or the same one after a restart, may finish it."""


class AnswerTruncated(EngineFailed, codes=["output_truncated"]):
    """The answer reached its token limit."""


class OutputUnusable(EngineFailed, codes=["engine_output_invalid"]):
    """The model answered, and its output is of no use. Another temperature, size or model may give a better one; a
    retry that would reach the token limit again is not of this kind.
    """


class OutputRepeats(OutputUnusable, codes=["output_repeats"]):
    """The model repeated itself."""


def error_class(code: str) -> type[InkgateError]:
    """The class of errors with this code. A code of an extension or of another version counts as `engine_failed`."""
    return InkgateError._classes.get(code, EngineFailed)  # noqa: SLF001 - of this module


def from_page_error(error: PageError) -> InkgateError:
    """The exception that `error` was made of; see `error_class`."""
    kind = error_class(error.code)
    if issubclass(kind, Overloaded):
        return kind(error.code, error.detail, error.retry_after_s or 1.0)
    return kind(error.code if error.code in CODES else "engine_failed", error.detail)
