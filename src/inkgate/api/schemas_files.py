"""Files and models as Mistral's (and OpenAI's) clients expect them described."""

from __future__ import annotations

from pydantic import BaseModel, Field


class UploadedFile(BaseModel):
    """A file that was uploaded. Times are seconds since 1970."""

    id: str
    object: str = "file"
    bytes: int = Field(description="Its size.")
    size_bytes: int = Field(description="The same.")
    created_at: int
    expires_at: int = Field(description="When it is forgotten.")
    filename: str
    purpose: str
    sample_type: str = Field("ocr_input", description="Their clients need a value; it means nothing here.")
    source: str = "upload"
    num_lines: int | None = None
    mimetype: str | None = None
    signature: str | None = None
    deleted: bool = Field(default=False, description="Never true: what is deleted is forgotten at once.")


class FileList(BaseModel):
    """The caller's files."""

    data: list[UploadedFile]
    object: str = "list"
    total: int


class DeletedFile(BaseModel):
    """A file that is gone."""

    id: str
    object: str = "file"
    deleted: bool = True


class SignedUrl(BaseModel):
    """Where a file can be read."""

    url: str


class ModelEntry(BaseModel):
    """A name that may be sent as `model`."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "inkgate"
    max_model_len: int | None = Field(None, description="Maximum tokens of a prompt and its response, if known.")


class ModelList(BaseModel):
    """The names that may be sent as `model`."""

    object: str = "list"
    data: list[ModelEntry]
