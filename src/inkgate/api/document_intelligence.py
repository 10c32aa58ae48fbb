"""Azure AI Document Intelligence: analyze, poll, get the text and a searchable PDF. Analyses are jobs of `/v1/jobs`.

paperless-ngx's remote OCR and Open WebUI call it. The paths of Form Recognizer 3.1 are the same but for their first
part. Differences from Azure: the models `prebuilt-read` and `prebuilt-layout` only; `styles` is always empty, and
languages, key-value pairs and query fields are not found.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from secrets import token_hex
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.azure_content import AzureForm, IndexType
from inkgate.api.azure_document import LARGE_PARTS, SMALL_PARTS, AnalyzedPart, figure_of
from inkgate.api.http import uploads
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import CONTROL, JOB, RESULT, STATE, WRITTEN, costs
from inkgate.api.http.errors import Problem, request_id_of
from inkgate.api.http.leaving import CountedContent
from inkgate.api.http.openapi import problems
from inkgate.api.http.options import parse
from inkgate.api.http.pictures import png_of
from inkgate.api.http.sources import document
from inkgate.api.jobs.pagewise import ResultForm
from inkgate.api.jobs.request import JobDraft, ReceivedJob, checked, pages_text
from inkgate.api.jobs.results import (
    JobResult,
    PiecewiseResponse,
    ResultReader,
    filled_json,
)
from inkgate.api.jobs.submit import JobCall, job_call, submit
from inkgate.api.jobs.views import error_of, expired_error, json_response
from inkgate.documents.pages import select
from inkgate.documents.sniff import FileType
from inkgate.errors import InputRejected
from inkgate.jobs.job import Job, JobOptions, JobSource, JobState, NewJob
from inkgate.jobs.published import rfc3339
from inkgate_client.codec import estimated_bytes
from inkgate_client.format_names import FileFormat
from inkgate_client.types import Task, TaskKind

Json = dict[str, Any]

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])

_DOCUMENT_INTELLIGENCE, _FORM_RECOGNIZER = "documentintelligence", "formrecognizer"
_VERSIONS = {_DOCUMENT_INTELLIGENCE: "2024-11-30", _FORM_RECOGNIZER: "2023-07-31"}
"""Versions of the API by the first part of the path."""
PREFIXES = tuple(f"/{service}/" for service in _VERSIONS)
_TASKS = {"prebuilt-read": TaskKind.TEXT, "prebuilt-layout": TaskKind.PARSE}
_MODELS = {
    "prebuilt-read": "Lines and words, and paragraphs.",
    "prebuilt-layout": "Lines and words, paragraphs, tables, figures, sections and Markdown.",
}
_STATUSES = {
    JobState.QUEUED: "notStarted",
    JobState.RUNNING: "running",
    JobState.CANCELLING: "running",
    JobState.SUCCEEDED: "succeeded",
    JobState.PARTIAL: "succeeded",
    JobState.FAILED: "failed",
    JobState.QUARANTINED: "failed",
    JobState.CANCELLED: "failed",
}
_INDEX_TYPES = list(IndexType)
_POLL_S = "1"


class AnalyzeOptions(BaseModel):
    """The query. Azure's other options are accepted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pages: Annotated[str, Field(max_length=10_000, description="From 1: `1-3,5`.")] = ""
    output_content_format: Annotated[Literal["text", "markdown"], Field(alias="outputContentFormat")] = "text"
    string_index_type: Annotated[IndexType, Field(alias="stringIndexType")] = IndexType.TEXT_ELEMENTS
    output: Annotated[str, Field(max_length=100, description="`figures` keeps their images.")] = ""

    @property
    def images(self) -> bool:
        """Whether images of figures are requested."""
        return "figures" in self.output.split(",")

    def suffix(self) -> str:
        """What is added to the ID of a result, so that the store needs no field for it."""
        return f".{self.output_content_format[0]}{_INDEX_TYPES.index(self.string_index_type)}"


class AnalyzeRequest(BaseModel):
    """A document as base64, or its URL."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    base64_source: Annotated[str | None, Field(alias="base64Source", repr=False)] = None
    url_source: Annotated[str | None, Field(alias="urlSource", repr=False)] = None


class AnalyzeOperation(BaseModel):
    """The state of an analysis, with its result once it has succeeded."""

    status: Literal["notStarted", "running", "succeeded", "failed"]
    createdDateTime: str  # noqa: N815 - Azure's names
    lastUpdatedDateTime: str  # noqa: N815
    error: Json | None = None
    analyzeResult: Json | None = None  # noqa: N815


class _WithoutColon(StringConvertor):
    """A part of a path that is no `{model}:analyze`."""

    regex = "[^/:]+"


register_url_convertor("without_colon", _WithoutColon())


_ERROR_CODES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
    501: "NotSupported",
    503: "ServiceUnavailable",
}


def azure_error(problem: Problem) -> Json:
    """`problem` in Azure's form. `innererror` has inkgate's code and its remedy."""
    status = problem.status
    code = _ERROR_CODES.get(status, "InvalidRequest" if status < 500 else "InternalServerError")
    inner = {"code": problem.code, "message": problem.detail, "remedy": problem.remedy}
    inner["request_id"] = problem.request_id
    return {"error": {"code": code, "message": problem.message, "innererror": inner}}


class AzureError(BaseModel):
    """Why a request was refused, or an analysis failed."""

    code: str = Field(description="Azure's code.")
    message: str = Field(description="What is wrong, and what to do about it.")
    innererror: dict[str, str] = Field(description="`code` is inkgate's; also `message`, `remedy` and `request_id`.")


class AzureErrorBody(BaseModel):
    """The body of an error."""

    error: AzureError


def _errors(*statuses: int) -> dict[int | str, Json]:
    """Returns what `problems` returns, in the form of Azure's errors."""
    found = problems(*statuses)
    for response in found.values():
        del response["content"]
        response["model"] = AzureErrorBody
    return found


async def _draft(received: ReceivedJob, kind: TaskKind, options: AnalyzeOptions) -> JobDraft:
    source, name = JobSource(), "document"
    if (raw := received.body.raw) is not None:
        data: bytes | None = checked(document(raw.data, raw.filename or name)).data
    else:
        requested = parse(AnalyzeRequest, received.body.fields)
        if requested.url_source is not None:
            source, data, name = await received.from_url(requested.url_source, name)
        elif requested.base64_source is not None:
            text = requested.base64_source
            data = checked(document(await received.context.sources.decoded(text, received.caller), name)).data
        else:
            raise InputRejected("file_missing", "The request has neither `base64Source` nor `urlSource`.")
    pages = pages_text(select(options.pages or None, first=1))
    images = options.images and kind is TaskKind.PARSE
    how = JobOptions(Task(kind=kind, images=images), pages)
    job = NewJob(received.tenant, source, name, how, priority=received.priority(), key=received.key)
    return JobDraft(job, data)


router = APIRouter(tags=["document-intelligence"], responses=_errors())

ModelId = Annotated[str, Path(max_length=100, description="`prebuilt-read` or `prebuilt-layout`.")]
FigureId = Annotated[str, Path(pattern=r"^[1-9][0-9]{0,5}\.[1-9][0-9]{0,5}$", description="Page and number, from 1.")]
ResultId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}(\.[mt][0-2])?$")]
_BODY: Json = {
    "required": True,
    "content": {
        "application/json": {"schema": {"$ref": "#/components/schemas/AnalyzeRequest"}},
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}


def _route(method: str, path: str, **documented: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - FastAPI's
    """Serves an endpoint at the paths of Document Intelligence and of Form Recognizer; the former are documented."""

    def add(endpoint: Endpoint) -> Endpoint:
        for service in _VERSIONS:
            shown = service == _DOCUMENT_INTELLIGENCE
            router.add_api_route(f"/{service}{path}", endpoint, methods=[method], include_in_schema=shown, **documented)
        return endpoint

    return add


def _service(request: Request) -> str:
    """The first part of the path below the service's root."""
    return str(request.url).removeprefix(str(request.base_url)).partition("/")[0]


def _task_of(model: str) -> TaskKind:
    if model not in _TASKS:
        why = f"The model `{model}` is not offered. Use `prebuilt-read` for text, `prebuilt-layout` for Markdown and"
        raise InputRejected("route_unknown", f"{why} tables, `POST /extract` for fields such as those of an invoice.")
    return _TASKS[model]


def _query(name: str, schema: Mapping[str, object]) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema}


@_route(
    "POST",
    "/documentModels/{model}:analyze",
    operation_id="azure_analyze",
    summary="Azure Document Intelligence: analyze a document",
    status_code=202,
    response_class=Response,
    responses={
        202: {
            "description": "Added. `Operation-Location` is where to poll.",
            "headers": {"Operation-Location": {"schema": {"type": "string"}}},
        },
        **_errors(400, 403, 404, 408, 413, 415, 422, 501),
    },
    openapi_extra={
        "requestBody": _BODY,
        "parameters": [
            _query("pages", {"type": "string"}),
            _query("outputContentFormat", {"type": "string", "enum": ["text", "markdown"]}),
            _query("stringIndexType", {"type": "string", "enum": list(IndexType)}),
            _query("output", {"type": "array", "items": {"type": "string", "enum": ["pdf", "figures"]}}),
        ],
    },
)
@costs(JOB)
async def analyze(request: Request, model: ModelId) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    query = request.query_params
    lists = {name: ",".join(query.getlist(name)) for name in ("output", "pages")}
    task, options = _task_of(model), parse(AnalyzeOptions, {**query, **lists})
    call, service = job_call(request), _service(request)

    async def draft(received: ReceivedJob) -> JobDraft:
        return await _draft(received, task, options)

    added = await submit(call, draft, uploads.receive_document)
    place = f"{request.base_url}{service}/documentModels/{model}/analyzeResults/{added.job.id}{options.suffix()}"
    headers = {"Operation-Location": f"{place}?api-version={_VERSIONS[service]}", "Retry-After": _POLL_S}
    return Response(status_code=202, headers=headers | {"apim-request-id": request_id_of(request)})


@_route(
    "GET",
    "/documentModels/{model}/analyzeResults/{result_id}",
    operation_id="azure_get_result",
    summary="Azure Document Intelligence: get a result",
    response_model=AnalyzeOperation,
    responses=_errors(404, 410, 422, 501),
)
@costs(RESULT)
async def get(request: Request, model: ModelId, result_id: ResultId) -> Response:
    """State of an analysis, and its result."""
    call = job_call(request)
    job = await _job(call, model, result_id)
    found = AnalyzeOperation(
        status=_STATUSES[job.state],
        createdDateTime=rfc3339(job.created),
        lastUpdatedDateTime=rfc3339(job.ended or job.started or job.created),
    )
    if not job.state.ended:
        return json_response(found.model_dump(exclude_none=True), headers={"Retry-After": _POLL_S})
    if (error := error_of(job)) is not None:
        found.error = azure_error(Problem.of(error, request_id_of(request)))["error"]
    else:
        about = {"apiVersion": _VERSIONS[_service(request)], "modelId": model}
        form = _form(job, model, result_id)
        compose = partial(_pieces, found, about, form)
        return PiecewiseResponse(call, "application/json", lambda permit: compose(ResultReader(call, job, permit)))
    return json_response(found.model_dump(exclude_none=True), headers={"apim-request-id": request_id_of(request)})


async def _job(call: JobCall, model: str, result_id: str) -> Job:
    """The caller's analysis by this model. Raises InputRejected."""
    task, job = _task_of(model), await call.job(result_id.partition(".")[0])
    if job.options.task.kind is not task:
        raise InputRejected("job_unknown", f"`{model}` made no result with this ID.")
    return job


def _form(job: Job, model: str, result_id: str) -> AzureForm:
    """How the result of this ID is shown."""
    suffix = result_id.partition(".")[2] or "t0"
    in_inches = job.document is not None and job.document.mime_type == FileType.PDF
    return AzureForm(model == "prebuilt-layout", suffix.startswith("m"), _INDEX_TYPES[int(suffix[1])], in_inches)


async def _small(part: AnalyzedPart, name: str) -> AsyncGenerator[bytes]:
    yield part.small(name)


def _pieces(found: AnalyzeOperation, about: Json, form: AzureForm, reader: ResultReader) -> AsyncGenerator[bytes]:
    """The analysis with its result."""
    large, small = (LARGE_PARTS, SMALL_PARTS) if form.layout else (LARGE_PARTS[:-1], SMALL_PARTS[-1:])
    tokens = {part: token_hex(16) for part in (*large, *small)}
    result = about | {
        "stringIndexType": form.index_type,
        "contentFormat": "markdown" if form.markdown else "text",
        "styles": [],
        **tokens,
    }
    pieces, part = {}, AnalyzedPart("content", form)
    for name in large:
        part = AnalyzedPart(name, form)
        pieces[tokens[name]] = (reader.json_text if name == "content" else reader.rendered)(part)
    for name in small:
        pieces[tokens[name]] = _small(part, name)
    return filled_json({**found.model_dump(exclude_none=True), "analyzeResult": result}, pieces)


@_route(
    "GET",
    "/documentModels/{model}/analyzeResults/{result_id}/pdf",
    operation_id="azure_get_pdf",
    summary="Azure Document Intelligence: get the searchable PDF",
    response_class=Response,
    responses={
        200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}},
        **_errors(404, 409, 410, 413, 422, 501, 502, 504),
    },
)
@costs(WRITTEN)
async def get_pdf(request: Request, model: ModelId, result_id: ResultId) -> Response:
    """The document with its text inside, also if `output=pdf` was not requested."""
    call = job_call(request)
    job = await _job(call, model, result_id)
    if (error := error_of(job)) is not None:
        raise error
    return JobResult(call, job, ResultForm(FileFormat.PDF))


@_route(
    "GET",
    "/documentModels/{model}/analyzeResults/{result_id}/figures/{figure_id}",
    operation_id="azure_get_figure",
    summary="Azure Document Intelligence: get a figure's image",
    response_class=Response,
    responses={
        200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}},
        **_errors(404, 409, 410, 422, 501),
    },
)
@costs(RESULT)
async def get_figure(request: Request, model: ModelId, result_id: ResultId, figure_id: FigureId) -> Response:
    """The image of a figure, if `output=figures` was requested."""
    call, context = job_call(request), context_of(request)
    job = await _job(call, model, result_id)
    if (error := error_of(job)) is not None:
        raise error
    page, number = map(int, figure_id.split("."))
    pages = await call.jobs.store.pages(job.id, page - 2, 1, call.tenant)
    figure = None
    if pages and pages[0].index == page - 1:
        size = estimated_bytes(pages[0])
        figure = await context.threads.run_large(call.caller, size, figure_of, pages[0], number)
    if figure is None or figure.image is None:
        if not pages and not await call.jobs.store.pages(job.id, -1, 1, call.tenant):
            raise expired_error()
        why = f"The result has no image of the figure {figure_id}: request the analysis with `output=figures`."
        raise InputRejected("route_unknown", why)
    content = await context.threads.run_large(call.caller, len(figure.image.base64), png_of, figure.image.data)
    return CountedContent(context.room, call.tenant, content, "image/png", {})


@_route(
    "DELETE",
    "/documentModels/{model}/analyzeResults/{result_id}",
    operation_id="azure_delete_result",
    summary="Azure Document Intelligence: delete a result",
    status_code=204,
    response_class=Response,
    responses=_errors(404, 409, 422, 501),
)
@costs(CONTROL)
async def delete(request: Request, model: ModelId, result_id: ResultId) -> Response:
    """Removes an analysis with its result; one that has not ended is cancelled."""
    call = job_call(request)
    job = await _job(call, model, result_id)
    await (call.jobs.remove if job.state.ended else call.jobs.store.cancel)(job.id, call.tenant)
    return Response(status_code=204)


class AzureModel(BaseModel):
    """A model that analyzes documents."""

    modelId: str  # noqa: N815 - Azure's names
    description: str
    createdDateTime: str  # noqa: N815
    apiVersion: str  # noqa: N815
    docTypes: Json = Field(default_factory=dict, description="Always empty: the models find no fields.")  # noqa: N815


class AzureModels(BaseModel):
    """The models."""

    value: list[AzureModel]


class AzureInfo(BaseModel):
    """The number of custom models."""

    customDocumentModels: dict[str, int] = {"count": 0, "limit": 0}  # noqa: N815


def _model(request: Request, name: str) -> AzureModel:
    version = _VERSIONS[_service(request)]
    created = f"{version}T00:00:00Z"
    return AzureModel(modelId=name, description=_MODELS[name], createdDateTime=created, apiVersion=version)


@_route("GET", "/documentModels", operation_id="azure_list_models", summary="Azure Document Intelligence: list models")
@costs(STATE)
async def models(request: Request) -> AzureModels:
    """The models that this service has."""
    return AzureModels(value=[_model(request, name) for name in _MODELS])


@_route(
    "GET",
    "/documentModels/{model:without_colon}",
    operation_id="azure_get_model",
    summary="Azure Document Intelligence: get a model",
    responses=_errors(404, 422),
)
@costs(STATE)
async def model_details(request: Request, model: ModelId) -> AzureModel:
    """What a model does."""
    _task_of(model)
    return _model(request, model)


@_route("GET", "/info", operation_id="azure_get_info", summary="Azure Document Intelligence: get the limits")
@costs(STATE)
async def info() -> AzureInfo:
    """There are no custom models."""
    return AzureInfo()
