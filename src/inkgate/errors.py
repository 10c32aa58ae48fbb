"""What can go wrong, as one tree by what the caller should do.

    InkgateError
      InputRejected   change the request, then try again                       4xx
      Overloaded      come back after `retry_after_s`                          429 (your share), 503 (the service)
      EngineFailed    nothing you did; try again later or elsewhere            502, 504

Every error has a stable `code`. `CODES` lists them all with what they mean and what to do; docs/reference/errors.md is
tested against it, and `api/errors.py` alone knows their HTTP statuses.
"""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.types import PageError


@dataclass(frozen=True, slots=True)
class Code:
    """A stable error code: a title for problem documents, and a remedy that says what to do."""

    title: str
    remedy: str


INPUT_CODES: dict[str, Code] = {
    "request_malformed": Code("The request could not be parsed", "Compare the body with the examples on /docs."),
    "json_invalid": Code("The body is not valid JSON", "Send valid JSON in UTF-8 with Content-Type: application/json."),
    "body_too_complex": Code(
        "The body has too many values", "Send the file as base64 or as a part of a form, and no other long lists."
    ),
    "base64_invalid": Code(
        "The image is not valid base64", "Encode the file's bytes as standard base64, without line breaks."
    ),
    "file_missing": Code("No file was sent", "Send the file as the multipart part `file`, or as base64 in JSON."),
    "options_invalid": Code("An option has a value that is not allowed", "See /docs for the values an option takes."),
    "pages_invalid": Code("The page selection does not fit the document", "Give pages as 1-3,7 within the document."),
    "schema_invalid": Code("The schema of the fields can't be used", "Send the JSON Schema of an object."),
    "type_unknown": Code("There is no such document type", "GET /document-types lists them; or send a `schema`."),
    "schema_too_large": Code("The schema of the fields is too large", "Ask for at most 300 fields in 64 KB."),
    "document_empty": Code("The file is empty", "Send the file's bytes; this one has none."),
    "type_unsupported": Code(
        "This file type is not supported", "Send JPEG, PNG, WebP, TIFF, BMP, GIF, AVIF, HEIC or PDF."
    ),
    "image_corrupt": Code("The image is damaged", "Open it in a viewer, save it again, and send the new file."),
    "image_too_large": Code("The image has too many pixels", "Scale it down, or raise `limits.max_pixels`."),
    "image_too_narrow": Code(
        "The image is too long for its width", "Cut it into pieces, or leave out the margin along its long sides."
    ),
    "pdf_corrupt": Code("The PDF is damaged", "Repair it (for example print it to a new PDF), and send that."),
    "pdf_encrypted": Code(
        "The PDF needs a password", "Give it as `password` in the body, or remove the encryption; then send it again."
    ),
    "pdf_password_wrong": Code(
        "The PDF's password is wrong", "Give the password that a viewer opens the file with as `password` in the body."
    ),
    "pdf_empty": Code("The PDF has no pages", "Send a PDF that has at least one page."),
    "page_broken": Code("The page could not be rendered", "Repair the file, or skip this page with `pages`."),
    "page_memory": Code("The page needed too much memory", "Simplify the page, or raise `pdf.worker_memory_mb`."),
    "too_many_pages": Code("The document has too many pages", "Ask for fewer with `pages`, or split the document."),
    "body_too_large": Code("The body is larger than allowed", "Send a smaller file, or raise `limits.max_body_mb`."),
    "body_timeout": Code("The body did not arrive in time", "Send the body without pauses; check the connection."),
    "head_too_large": Code(
        "The request line and headers are too large",
        "Send less in headers and URL; documents go in the body.",
    ),
    "head_timeout": Code(
        "The request line and headers did not arrive in time", "Send them without pauses; check the connection."
    ),
    "http_invalid": Code(
        "The request is not valid HTTP", "Send HTTP/1.1; check the client, and the proxies between it and the service."
    ),
    "media_type_unsupported": Code(
        "The Content-Type is not accepted here", "Send application/json or multipart/form-data."
    ),
    "not_acceptable": Code(
        "The format asked for does not exist",
        "Ask for text, markdown, json, hocr, alto, csv, mermaid, pdf, docx or xlsx.",
    ),
    "format_unavailable": Code(
        "The format asked for can't be written here", "Install inkgate[files] there, or ask for another format."
    ),
    "url_forbidden": Code("The URL may not be fetched", "Send the file itself, or allow its host in `fetch`."),
    "url_unreachable": Code("The URL could not be fetched", "Check that the URL answers 200 with the file itself."),
    "upstream_rejected": Code(
        "The model server refused the request",
        "Shorten the prompt, scale the page down, or leave out what is named above. The log has the server's message.",
    ),
    "content_quarantined": Code(
        "This page made the engine crash before",
        "Scan the page again, or retry much later. Other pages are read normally.",
    ),
    "task_unsupported": Code("The engine can't do this task", "Choose another task, or another engine."),
    "engine_incomplete": Code(
        "A setting of the engine is missing", "Set what is named above; see docs/reference/settings.md."
    ),
    "extension_invalid": Code(
        "An engine, policy or sink of your own can't be used",
        "Correct what is named above; see docs/guides/extending.md.",
    ),
    "engine_unknown": Code("There is no such engine or model", "Leave `model` out, or name one that /v1/models lists."),
    "feature_unavailable": Code("This is not available", "Leave it out of the request, or run an engine that has it."),
    "file_unknown": Code("There is no such file", "Upload it first; uploaded files are kept for a limited time."),
    "unauthenticated": Code("An API key is needed", "Send `Authorization: Bearer <key>` with a key of this service."),
    "host_forbidden": Code(
        "The service does not answer to this host name",
        "Call it as localhost or by its IP address, add the name to `server.allowed_hosts`, or set an API key.",
    ),
    "origin_forbidden": Code(
        "Web pages of other sites must not call this service",
        "Add the page's origin to `server.cors_origins`, or set an API key.",
    ),
    "deadline_exceeded": Code("The client's own timeout expired", "Raise `X-Inkgate-Timeout`, or request fewer pages."),
    "job_unknown": Code("There is no such job", "List your jobs with GET /v1/jobs; ended ones are kept for a while."),
    "job_not_ended": Code("The job has not ended yet", "Ask again when its state has changed, or read its pages."),
    "job_ended": Code("The job has ended already", "Read its result; to read the document again, add a new job."),
    "job_cancelled": Code("The job was cancelled", "Add it again to read the document."),
    "job_expired": Code("The job's result is no longer kept", "Add the job again; `jobs.retention_days` is the time."),
    "fields_missing": Code("The job has no fields", "Add a job with `extract`; fields are removed with its result."),
    "fields_changed": Code(
        "The fields were changed meanwhile", "Get the fields again, and send the correction with their new ETag."
    ),
    "version_missing": Code(
        "The correction does not say what it is about", "Send the ETag of the fields as the header If-Match."
    ),
    "key_reused": Code(
        "The idempotency key was used for another request", "Send a new key, or the same request as before."
    ),
    "source_forbidden": Code("The source may not be read", "Use a source below a prefix in the settings, or upload."),
    "source_missing": Code("The source does not exist", "Check that the object is there, then add the job again."),
    "source_replaced": Code(
        "The source was replaced before it was read", "Nothing; the event of the new object has a job of its own."
    ),
    "webhook_forbidden": Code(
        "The webhook can't be used", "Name a public https URL, and set `webhooks.secrets` in the service."
    ),
    "event_invalid": Code("The event has no known form", "See docs/guides/events.md for the forms of events."),
    "document_quarantined": Code(
        "The document ended its reader's process", "Repair it, or ask for its pages one by one with `pages`."
    ),
    "route_unknown": Code("There is nothing at this address", "See /docs for what this service answers."),
    "method_not_allowed": Code("This address takes another method", "See /docs; documents are sent with POST."),
}

OVERLOAD_CODES: dict[str, Code] = {
    "rate_limited": Code("Too many requests with this key", "Wait as long as Retry-After says."),
    "service_full": Code("The service is full", "Wait as long as Retry-After says, then send the same request again."),
    "engine_breaker_open": Code(
        "The engine is paused after failures", "Wait as long as Retry-After says; /readyz and the log say why."
    ),
    "share_exceeded": Code(
        "You use more than your share while others wait",
        "Wait as long as Retry-After says, or send fewer documents at once.",
    ),
    "jobs_full": Code("The queue of jobs is full", "Wait as long as Retry-After says, then add the job again."),
    "jobs_unavailable": Code(
        "Jobs can't be kept at the moment",
        "Wait as long as Retry-After says; other requests are served meanwhile.",
    ),
    "storage_full": Code("No space is left for jobs", "Free space on the service's disk; ended jobs can be removed."),
    "starting": Code("The model server is not there yet", "Wait as long as Retry-After says; /readyz says why."),
    "draining": Code("The service is shutting down", "Send the request again; another instance will take it."),
}

ENGINE_CODES: dict[str, Code] = {
    "engine_failed": Code(
        "The engine failed on this page", "Try again. If it fails again, report it with the request ID."
    ),
    "service_timeout": Code(
        "The service's time limit expired",
        "Try again. If it happens again, request fewer pages, or raise `limits.time_s`.",
    ),
    "page_timeout": Code(
        "The page took too long to render",
        "Try again. If it happens again, simplify the page, or raise `pdf.page_timeout_s` or `pdf.write_timeout_s`.",
    ),
    "engine_output_invalid": Code(
        "The model's answer could not be parsed", "Try again. If it happens again, choose another task or engine."
    ),
    "engine_unavailable": Code("The engine is not ready", "Try again shortly; /readyz says why."),
    "engine_not_installed": Code(
        "The engine's packages are not installed",
        "Install the extra that is named above, then start the service again.",
    ),
    "weights_missing": Code(
        "The model's weights were not found",
        "Put them into a folder and name it in `engine.transformers.model`, or set `engine.transformers.download`.",
    ),
    "layout_model_unusable": Code(
        "The layout model can't be used",
        "Name a file of PP-DocLayoutV2 or V3 (docs/guides/choosing-a-model.md) in `engine.layout.model`, or leave it "
        "empty.",
    ),
    "provider_unavailable": Code(
        "ONNX Runtime can't use this device",
        "Install what is named above (docs/guides/several-gpus.md), or set `engine.ppocr.onnxruntime.provider` to "
        "`cpu`.",
    ),
    "model_unusable": Code(
        "The model can't be run here",
        "Read the reason above; check `model`, `device` and `dtype` in `engine.transformers`.",
    ),
    "upstream_unreachable": Code(
        "The model server can't be reached", "Start it, or correct `engine.vllm.urls`. Then try again."
    ),
    "upstream_denied": Code(
        "The model server refused inkgate's API key", "Set `engine.vllm.api_key` to the server's key."
    ),
    "upstream_busy": Code("The model server accepts no more requests", "Try again shortly, or lower the load."),
    "upstream_failed": Code("The model server failed", "Try again; its own log says why."),
    "upstream_garbled": Code(
        "The model server's answer is not a chat completion",
        "Check that `engine.vllm.urls` lead to vLLM, with /v1 at the end.",
    ),
    "upstream_cut_off": Code("The model server's answer broke off", "Try again; its own log says whether it died."),
    "upstream_stalled": Code(
        "The model server stopped making progress",
        "Try again. If the server is only slow, raise `engine.vllm.first_token_s`.",
    ),
    "model_unknown": Code(
        "The model server has no such model", "Set `engine.vllm.model` to a name that the server lists."
    ),
    "output_truncated": Code(
        "The answer reached its token limit", "Use the partial text, or raise `max_tokens` of the engine."
    ),
    "output_repeats": Code(
        "The model repeated itself on this page", "Use the partial text, scan the page again, or read it with `ppocr`."
    ),
    "elements_failed": Code(
        "Parts of the page were not read", "Use the partial text; `blocks` say which parts are missing and why."
    ),
    "source_unreachable": Code("The source could not be read", "Try again; check the object store's address and keys."),
    "internal": Code("Internal error", "Try again. If it happens again, report it with the request ID."),
}

CODES: dict[str, Code] = INPUT_CODES | OVERLOAD_CODES | ENGINE_CODES


def install_extra(extra: str) -> str:
    """How an extra of inkgate is installed, as a part of a sentence: from a checkout, as no package index has it."""
    return f"`pip install '.[{extra}]'` in inkgate's checkout (`make` puts pip into .venv/bin)"


class InkgateError(Exception):
    """An error with a stable code. `detail` may be shown to clients: nothing internal goes into it."""

    known: dict[str, Code] = CODES

    def __init__(self, code: str, detail: str) -> None:
        if code not in self.known:
            raise ValueError(f"{code!r} is not a code of {type(self).__name__}")
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail

    @property
    def title(self) -> str:
        return self.known[self.code].title

    @property
    def remedy(self) -> str:
        return self.known[self.code].remedy

    def as_page_error(self) -> PageError:
        """The same, as the error of one page."""
        return PageError(self.code, self.detail, self.remedy)

    def __reduce__(self) -> tuple[type[InkgateError], tuple[object, ...]]:
        return type(self), (self.code, self.detail)


class InputRejected(InkgateError):
    """The caller must change the request."""

    known = INPUT_CODES


class Overloaded(InkgateError):
    """The caller should come back in `retry_after_s` seconds."""

    known = OVERLOAD_CODES

    def __init__(self, code: str, detail: str, retry_after_s: float) -> None:
        super().__init__(code, detail)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[Overloaded], tuple[object, ...]]:
        return type(self), (self.code, self.detail, self.retry_after_s)

    def as_page_error(self) -> PageError:
        return PageError(self.code, self.detail, self.remedy, self.retry_after_s)


class EngineFailed(InkgateError):
    """The engine, or the service, failed; the request was fine."""

    known = ENGINE_CODES


def from_page_error(error: PageError) -> InkgateError:
    """The exception that `error` was made of, for a document none of whose pages was read."""
    if error.code in OVERLOAD_CODES:
        return Overloaded(error.code, error.detail, error.retry_after_s or 1.0)
    kind = InputRejected if error.code in INPUT_CODES else EngineFailed
    return kind(error.code, error.detail)
