"""Cards with the fields of a document, and the form to correct them, as Feishu's card JSON 2.0.

Values are plain text, never Markdown: in that, a document could mention people or show links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import orjson

from inkgate.fields.result import is_doubtful
from inkgate_client import JobFieldsFound
from inkgate_client.fields.values import FieldValue
from inkgate_feishu import wording
from inkgate_feishu.choices import ChatWords
from inkgate_feishu.received import card_proof
from inkgate_feishu.wording import LocalizedText, filled

Json = dict[str, Any]

MAX_BYTES: Final = 28_000
"""Feishu takes cards of up to 30 KB."""
MAX_INPUTS: Final = 30
LONGEST_INPUT: Final = 1000
_MAX_ROWS = 10
_MAX_LINES = 80
"""Feishu takes cards of up to 200 parts; each line is two."""
_LONGEST_SHOWN = 300
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14}|[1-9]\d{0,2}(?:,\d{3}){1,4})(?:\.\d{1,15})?", re.ASCII)
"""A number as JSON has it, but with commas between thousands: `12,50` is no number."""


@dataclass(frozen=True, slots=True)
class FieldCards:
    """Makes the cards of one job in one chat. `secret`: signs what their buttons send."""

    words: ChatWords
    secret: str
    job: str
    chat: str

    def answer(self, name: str, found: JobFieldsFound[Json], notice: LocalizedText | None = None) -> Json:
        """The values with a button to correct them. `name`: of the document; empty: not known."""
        type_name = found.found.extraction.document_type
        title = self.words.title(type_name) if type_name else wording.FIELDS_FOUND
        if name:
            title = LocalizedText(f"{title.en}: {name}", f"{title.zh}：{name}")
        if found.corrections:
            template, tag = "blue", wording.CORRECTED
        elif found.needs_review:
            template, tag = "orange", wording.TO_CHECK
        else:
            template, tag = "green", None
        shown = [line.plain() for line in islice(self._values(type_name, found), _MAX_LINES + 1)]
        notices = [] if notice is None else [notice.plain()]
        button = self._button(wording.CORRECT, "correct", {"type": "primary"})
        return self._fitting(title, template, tag, notices, shown, [button])

    def form(
        self, found: JobFieldsFound[Json], notice: LocalizedText | None = None, entered: Mapping[str, str] | None = None
    ) -> Json:
        """The form. `entered`: texts by path, of somebody whose values could not be kept."""
        values = {path: (entered or {}).get(path, text) for path, text in form_values(found.data)}
        said = [each for each in (notice, wording.FORM) if each is not None]
        missing: list[LocalizedText] = []
        while True:
            card = self._form(found, values, [*said, *missing])
            if len(orjson.dumps(card)) <= MAX_BYTES or not values:
                return card
            values = dict(list(values.items())[: len(values) * 3 // 4])
            missing = [filled(wording.NOT_ALL, job=self.job)]

    def _form(self, found: JobFieldsFound[Json], values: Mapping[str, str], notices: Iterable[LocalizedText]) -> Json:
        paths = {f"f{number}": path for number, path in enumerate(values)}
        inputs = [
            {
                "tag": "input",
                "name": name,
                "label": self._numbered(found.found.extraction.document_type, path).plain(),
                "default_value": values[path],
                "max_length": LONGEST_INPUT,
                "width": "fill",
            }
            for name, path in paths.items()
        ]
        look = {"type": "primary", "form_action_type": "submit", "name": "save"}
        save = self._button(wording.SAVE, "save", look, {"version": found.version, "paths": paths})
        form = {"tag": "form", "name": "values", "elements": [*inputs, save]}
        texts = _divs([each.plain() for each in notices])
        return self._card(wording.CORRECT, "blue", None, [*texts, form, self._button(wording.CLOSE, "close", {})])

    def _values(self, type_name: str, found: JobFieldsFound[Json]) -> Iterator[LocalizedText]:
        corrected = {path for each in found.corrections for path in each.fields}
        for name, value in found.data.items():
            path = f"/{name.replace('~', '~0').replace('/', '~1')}"
            if isinstance(value, list):
                yield from self._rows(type_name, path, value)
                continue
            for leaf, text in _leaves(path, value):
                field = None if leaf in corrected else found.fields.get(leaf)
                label, shown = self._label(type_name, leaf), _shown(text, field)
                yield LocalizedText(f"{label.en}: {shown}", f"{label.zh}：{shown}")

    def _rows(self, type_name: str, path: str, rows: Sequence[object]) -> Iterator[LocalizedText]:
        for number, row in enumerate(rows[:_MAX_ROWS], start=1):
            leaves = [
                (self._label(type_name, leaf), _cut(text))
                for leaf, text in _leaves(f"{path}/{number - 1}", row)
                if text
            ]
            yield LocalizedText(
                f"{number}. " + ", ".join(f"{label.en}: {text}" for label, text in leaves),
                f"{number}. " + "，".join(f"{label.zh}：{text}" for label, text in leaves),
            )
        if len(rows) > _MAX_ROWS:
            yield filled(wording.MORE_ROWS, count=len(rows) - _MAX_ROWS)

    def _numbered(self, type_name: str, path: str) -> LocalizedText:
        """The label, with the number of its row in a table."""
        label, row = (
            self._label(type_name, path),
            next((int(part) for part in path.split("/") if part.isdecimal()), None),
        )
        return label if row is None else LocalizedText(f"{row + 1}. {label.en}", f"{row + 1}. {label.zh}")

    def _label(self, type_name: str, path: str) -> LocalizedText:
        return self.words.label(type_name, path)

    def _button(self, said: LocalizedText, action: str, look: Json, more: Json | None = None) -> Json:
        value = {
            "action": action,
            "job": self.job,
            "proof": card_proof(self.secret, self.job, self.chat),
            **(more or {}),
        }
        return {"tag": "button", "text": said.plain(), **look, "behaviors": [{"type": "callback", "value": value}]}

    def _fitting(
        self,
        title: LocalizedText,
        template: str,
        tag: LocalizedText | None,
        notices: list[Json],
        shown: list[Json],
        last: list[Json],
    ) -> Json:
        """The card, without the last values if Feishu would not take it."""
        missing: list[Json] = []
        if len(shown) > _MAX_LINES:
            shown, missing = shown[:_MAX_LINES], [filled(wording.NOT_ALL, job=self.job).plain()]
        while True:
            card = self._card(title, template, tag, [*_divs([*notices, *shown, *missing]), *last])
            if len(orjson.dumps(card)) <= MAX_BYTES or not shown:
                return card
            shown = shown[: len(shown) * 3 // 4]
            missing = [filled(wording.NOT_ALL, job=self.job).plain()]

    def _card(self, title: LocalizedText, template: str, tag: LocalizedText | None, elements: list[Json]) -> Json:
        header: Json = {"title": title.plain(), "template": template}
        if tag is not None:
            header["text_tag_list"] = [{"tag": "text_tag", "text": tag.plain(), "color": template}]
        return {
            "schema": "2.0",
            "config": {"update_multi": True, "enable_forward_interaction": False},
            "header": header,
            "body": {"elements": elements},
        }


def form_values(data: Json) -> list[tuple[str, str]]:
    """The values that a form has inputs for, as texts by path: the first ones, and none too long for an input."""
    leaves = (
        leaf
        for name, value in data.items()
        for leaf in _leaves(f"/{name.replace('~', '~0').replace('/', '~1')}", value)
    )
    return [(path, text) for path, text in leaves if len(text) <= LONGEST_INPUT][:MAX_INPUTS]


def changed_values(data: Json, entered: Mapping[str, str]) -> dict[str, object]:
    """What somebody changed, by path, with the types that the values had. None: the document has no such value."""
    values = dict(_typed_leaves("", data))
    changed: dict[str, object] = {}
    for path, text in entered.items():
        if path in values and text.strip() != _text(values[path]).strip():
            changed[path] = _typed(text.strip(), values[path])
    return changed


def _typed(text: str, before: object) -> object:
    if not text:
        return None
    if isinstance(before, bool):
        return {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}.get(
            text.casefold(), text
        )
    if isinstance(before, int | float):
        return (
            orjson.loads(text.replace(",", "")) if _NUMBER.fullmatch(text) else text
        )  # the service says what is wrong
    return text


def _typed_leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _typed_leaves(f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _typed_leaves(f"{path}/{index}", inner)
    else:
        yield path, value


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    return ((leaf, _text(found)) for leaf, found in _typed_leaves(path, value))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _shown(text: str, field: FieldValue | None) -> str:
    doubtful = field is not None and is_doubtful(field)
    return f"{_cut(text) or '—'}{' ⚠' if doubtful else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _divs(texts: Iterable[Json]) -> list[Json]:
    return [{"tag": "div", "text": text} for text in texts]
