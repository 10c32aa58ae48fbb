"""What people want of their documents: text, Markdown, or the fields of a document type, as they say it in a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.schema import FieldSchema
from inkgate_client import JobAs, ReadOptions, WantedFields
from inkgate_feishu.wording import LocalizedText

TEXT, MARKDOWN, FIELDS = "text", "markdown", "fields"
_WORDS = {
    "text": TEXT, "plain": TEXT, "文字": TEXT, "文本": TEXT,
    "markdown": MARKDOWN, "md": MARKDOWN,
    "fields": FIELDS, "auto": FIELDS, "字段": FIELDS,
}  # fmt: skip
_SHOWN = {
    TEXT: LocalizedText("text", "文字"),
    MARKDOWN: LocalizedText("Markdown", "Markdown"),
    FIELDS: LocalizedText("fields", "字段"),
}
_LATIN = re.compile(r"[a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Choice:
    """`name`: `text`, `markdown`, `fields` (the type is found), or a document type."""

    name: str

    @property
    def has_fields(self) -> bool:
        return self.name not in (TEXT, MARKDOWN)

    @property
    def read_as(self) -> ReadOptions:
        """How the service reads the document."""
        return ReadOptions(task="parse" if self.name == MARKDOWN else "text")

    def job_as(self, key: str) -> JobAs:
        """Options of the job. `key`: idempotency key."""
        asked = WantedFields("" if self.name == FIELDS else self.name) if self.has_fields else None
        return JobAs(key=key, extract=asked)


@dataclass(frozen=True, slots=True)
class ChatWords:
    """The words for the document types that the service has."""

    types: Mapping[str, FieldSchema] = field(default_factory=dict)
    """The shipped ones, for titles and labels. Blocking to load: see `shipped_words`."""

    def choice(self, words: str, known: Iterable[str]) -> Choice | None:
        """What the words ask for; None: nothing that is known. `known`: names of the service's types."""
        said = words.casefold()
        parts = _LATIN.findall(said)
        spoken = self._spoken(known)
        # The longest first: the title of one type may hold that of another, as 增值税发票 holds 发票.
        for word in sorted(spoken, key=len, reverse=True):
            if word in parts or (not word.isascii() and word in said):
                return Choice(spoken[word])
        return None

    def choice_alone(self, words: str, known: Iterable[str]) -> Choice | None:
        """Returns a choice like `choice`, but only if the words are nothing else."""
        name = self._spoken(known).get(words.casefold().strip(" .!。！"))
        return None if name is None else Choice(name)

    def shown(self, choice: Choice) -> LocalizedText:
        """The choice in words."""
        return _SHOWN.get(choice.name) or self.title(choice.name)

    def title(self, name: str) -> LocalizedText:
        """The title of a document type."""
        title = self.types[name].source.get("x-title") if name in self.types else None
        title = title if isinstance(title, dict) else {}
        return LocalizedText(str(title.get("en") or name), str(title.get("zh") or title.get("en") or name))

    def label(self, type_name: str, path: str) -> LocalizedText:
        """What to call a value: by its path, and in Chinese by the type's label."""
        parts = [part for part in path.split("/") if part and not part.isdigit() and part != "-"]
        english = (parts[-1] if parts else path).replace("_", " ")
        general = re.sub(r"/\d+(?=/|$)", "/-", path)
        leaves = self.types[type_name].leaves if type_name in self.types else ()
        chinese = next((leaf.question for leaf in leaves if leaf.path == general and leaf.question), english)
        return LocalizedText(english[:1].upper() + english[1:], chinese)

    def _spoken(self, known: Iterable[str]) -> dict[str, str]:
        """Names of choices by the words for them."""
        known = tuple(known)
        titles = {self.title(name).zh.casefold(): name for name in known}
        return _WORDS | titles | {name.casefold(): name for name in known}


def shipped_words() -> ChatWords:
    """The words of the shipped types. Blocking."""
    return ChatWords(DocumentTypes.load().schemas)
