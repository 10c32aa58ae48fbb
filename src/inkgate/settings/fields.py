"""Settings of finding fields in documents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


class TextModelSettings(Branch):
    url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="Base URL of an OpenAI-compatible server, such as `http://127.0.0.1:8001/v1`, that is asked for "
        "fields with the text of the pages. Empty: none.",
    )
    model: str = Field("", description="The model's name at that server.")
    api_key: SecretStr = Field(SecretStr(""), description="Its API key.")
    timeout_s: PositiveFloat = Field(60.0, description="Time limit of a call.")
    concurrent: PositiveInt = Field(8, description="Calls at once.")
    max_characters: PositiveInt = Field(
        24_000, description="Text of a document that is sent in one call; longer documents are sent in parts."
    )


class TermsSettings(Branch):
    files: tuple[str, ...] = Field(
        (),
        description="TOML files with terms of your domain: in everything that is read, words of little confidence "
        "become the terms that they resemble (docs/guides/fields.md).",
    )


class FieldsSettings(Branch):
    types: tuple[str, ...] = Field(
        (), description="Folders with document types of your own as YAML files (docs/guides/fields.md)."
    )
    terms: tuple[str, ...] = Field(
        (),
        description="TOML files with more terms, for fields only: see `terms.files`.",
    )
    least_confidence: float = Field(
        0.8, ge=0, le=1, description="Fields of lower confidence are `uncertain`, and the document needs review."
    )
    witness: Literal["embedded", "engine"] = Field(
        "embedded",
        description="What reads the lines in which a model's values are looked up: the `embedded` engine, or the "
        "`engine` itself, which must give lines with places.",
    )
    text_model: TextModelSettings = TextModelSettings()
