"""Files and models in the form of Mistral's and OpenAI's APIs."""

from __future__ import annotations

from pydantic import BaseModel, Field


class UploadedFile(BaseModel):
    """An uploaded file. Times are Unix times in seconds."""

    id: str
    object: str = "file"
    bytes: int = Field(description="Its size.")
    size_bytes: int = Field(description="The same.")
    created_at: int
    expires_at: int = Field(description="When the file is deleted.")
    filename: str
    purpose: str
    sample_type: str = Field("ocr_input", description="Clients require a value; it has no meaning here.")
    source: str = "upload"
    num_lines: int | None = None
    mimetype: str | None = None
    signature: str | None = None
    deleted: bool = Field(default=False, description="Always false: deleted files are not kept.")


class FileList(BaseModel):
    """The caller's files."""

    data: list[UploadedFile]
    object: str = "list"
    total: int


class DeletedFile(BaseModel):
    """A deleted file."""

    id: str
    object: str = "file"
    deleted: bool = True


class SignedUrl(BaseModel):
    """A URL that a file can be read at."""

    url: str


class ModelEntry(BaseModel):
    """A name that requests may use as `model`."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "inkgate"
    max_model_len: int | None = Field(None, description="Maximum tokens of a prompt and its response, if known.")


class ModelList(BaseModel):
    """The names that requests may use as `model`."""

    object: str = "list"
    data: list[ModelEntry]
