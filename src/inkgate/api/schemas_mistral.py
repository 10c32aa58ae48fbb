"""Mistral's OCR request. Null means: not given. Unknown keys are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict, JsonValue

from inkgate.api.options import Pages
from inkgate.errors import InputRejected

_MODELS = ("mistral-ocr", "inkgate")
"""Model names (and prefixes) that clients of Mistral's service send."""
_TEXT: JsonDict = {"type": "string", "minLength": 1}
_ANY_SOURCE: list[JsonValue] = [
    {"required": ["document_url"], "properties": {"document_url": _TEXT}},
    {"required": ["image_url"], "properties": {"image_url": _TEXT}},
    {"required": ["file_id"], "properties": {"file_id": _TEXT}},
]


class DocumentSource(BaseModel):
    """Where the document is. `type` may be omitted; the key tells it."""

    model_config = ConfigDict(extra="ignore", frozen=True, json_schema_extra={"anyOf": _ANY_SOURCE})

    type: Literal["document_url", "image_url", "file"] | None = None
    document_url: str | None = None
    image_url: str | dict[str, Any] | None = None
    file_id: str | None = None
    document_name: str | None = None

    @property
    def url(self) -> str | None:
        """The URL under either key; `image_url` may be `{"url": ...}`."""
        if self.document_url is not None:
            return self.document_url
        if isinstance(self.image_url, dict):
            inner = self.image_url.get("url")
            return inner if isinstance(inner, str) else None
        return self.image_url


class MistralOptions(BaseModel):
    """The options. Pages count from 0. Strings of forms are already converted to these types."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    model: str | None = None
    pages: Pages | None = None
    include_image_base64: bool | None = None
    image_limit: Annotated[int, Field(ge=0)] | None = None
    image_min_size: Annotated[int, Field(ge=0)] | None = None
    table_format: Literal["markdown", "html"] | None = None
    extract_header: bool | None = None
    extract_footer: bool | None = None
    include_blocks: bool | None = None
    confidence_scores_granularity: Literal["word", "page"] | None = None
    document_annotation_format: Any = None
    document_annotation_prompt: Any = None
    bbox_annotation_format: Any = None

    def refuse_what_is_missing(self, names: Sequence[str]) -> None:
        """Rejects unsupported options. `names`: the engine's name first, then its models'.

        Raises:
            InputRejected: "feature_unavailable" for annotations, "engine_unknown" for an unknown model.
        """
        for name in ("document_annotation_format", "document_annotation_prompt", "bbox_annotation_format"):
            if getattr(self, name) is not None:
                raise InputRejected("feature_unavailable", f"`{name}` is not supported yet.")
        if self.model is None or self.model in names or self.model.startswith(_MODELS):
            return
        raise InputRejected("engine_unknown", f"No model has this name. This service has `{names[0]}`.")


class MistralRequest(MistralOptions):
    """The JSON body."""

    document: DocumentSource
