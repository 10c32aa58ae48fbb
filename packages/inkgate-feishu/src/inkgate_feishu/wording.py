"""What the bot says, in English and Chinese. Feishu shows each person their language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Self

import orjson

from inkgate.errors import CODES


@dataclass(frozen=True, slots=True)
class LocalizedText:
    """One text in both languages."""

    en: str
    zh: str

    def __add__(self, other: LocalizedText) -> LocalizedText:
        return LocalizedText(f"{self.en} {other.en}", f"{self.zh}{other.zh}")

    @classmethod
    def same(cls, text: str) -> Self:
        """A text that needs no translation, such as a value."""
        return cls(text, text)

    def post(self) -> dict[str, Any]:
        """Returns it as the content of a message of the kind `post`."""
        return {"en_us": _paragraphs("", self.en), "zh_cn": _paragraphs("", self.zh)}

    def plain(self) -> dict[str, Any]:
        """Returns it as a text of a card."""
        return {"tag": "plain_text", "content": self.en, "i18n_content": {"en_us": self.en, "zh_cn": self.zh}}

    def toast(self, kind: str) -> dict[str, Any]:
        """Returns it as a short notice after a button was pressed. `kind`: `info`, `error`, `success` or `warning`."""
        return {"toast": {"type": kind, "content": self.en, "i18n": {"en_us": self.en, "zh_cn": self.zh}}}


def text_post(title: str, text: str) -> dict[str, Any]:
    """A document's text as the content of a message of the kind `post`: nothing in it is markup, such as a mention."""
    return {"zh_cn": _paragraphs(title, text)}


def _paragraphs(title: str, text: str) -> dict[str, Any]:
    return {"title": title, "content": [[{"tag": "text", "text": line}] for line in text.splitlines() or [""]]}


HELP: Final = LocalizedText(
    "Send a photo or a PDF, and I answer with its text. In a group, mention me in the same message, or in a reply to "
    "the photo.\n"
    "Say `text`, `markdown`, `fields`, or a kind of document, such as `receipt` or `invoice`, for a card with its "
    "values. Alone, such a word holds for this chat from now on.\n"
    "Kinds of documents: {types}.\n"
    "A file may have up to {most_mb} MB.",
    "发送照片或 PDF，我会回复其中的文字。在群聊中，请在同一条消息里 @我，或回复该照片并 @我。\n"
    "发送“文字”、“markdown”、“字段”，或文档类型，例如“小票”、“发票”，可得到含各项内容的卡片。单独发送时，对本会话以后的文档都有效。\n"
    "文档类型：{types}。\n"
    "文件不超过 {most_mb} MB。",
)
CHOSEN: Final = LocalizedText("From now on in this chat: {choice}.", "本会话以后的文档：{choice}。")
TOO_MANY: Final = LocalizedText(
    "{count} documents of yours are waiting. Please send this one again later.",
    "您还有 {count} 个文档在等待处理，请稍后再发送这一个。",
)
TOO_LARGE: Final = LocalizedText(
    "The file is too large: up to {most_mb} MB can be read. Please send a smaller one, or split it.",
    "文件太大：最多可识别 {most_mb} MB。请发送较小的文件，或拆分后发送。",
)
NOT_FETCHED: Final = LocalizedText(
    "I can't fetch this file from Feishu (code {code}). Is it confidential, or was it withdrawn?",
    "无法从飞书取得此文件（错误码 {code}）。它是否已撤回，或设为保密？",
)
NOT_REACHED: Final = LocalizedText(
    "The reading service can't be reached or is too busy. Please send the document again later.",
    "识别服务无法连接或过于繁忙，请稍后再发送。",
)
NOT_READ: Final = LocalizedText("I can't read this document: {why} ({code}).", "无法识别此文档：{why}（{code}）。")
CANCELLED: Final = LocalizedText("The reading was cancelled.", "识别已取消。")
NO_TEXT: Final = LocalizedText("There is no text in this document.", "此文档中没有文字。")
BROKEN: Final = LocalizedText(
    "Something went wrong here. Please send the document again, and tell whoever runs this bot if it happens again.",
    "处理时出错。请重新发送；如再次出错，请告知本机器人的管理员。",
)
SOME_PAGES: Final = LocalizedText(
    "{failed} of {total} pages could not be read.", "共 {total} 页，其中 {failed} 页未能识别。"
)
FILE_FOLLOWS: Final = LocalizedText("The text is long, so here it is as a file.", "文字较长，以文件形式发送。")
FILE_TOO_LARGE: Final = LocalizedText(
    "The text has more than 30 MB, which is too much for a message. It is in job {job}.",
    "文字超过 30 MB，无法发送。结果在任务 {job} 中。",
)

TO_CHECK: Final = LocalizedText("Please check", "请核对")
FIELDS_FOUND: Final = LocalizedText("Fields", "字段")
CORRECTED: Final = LocalizedText("Corrected", "已更正")
CORRECT: Final = LocalizedText("Correct", "更正")
SAVE: Final = LocalizedText("Save", "保存")
CLOSE: Final = LocalizedText("Back", "返回")
FORM: Final = LocalizedText(
    "Correct the values, then save. Leave empty what the document does not have.",
    "请更正后保存；文档中没有的内容请留空。",
)
MORE_ROWS: Final = LocalizedText("and {count} more", "另有 {count} 项")
NOT_ALL: Final = LocalizedText(
    "Not all values fit into this card. All are in job {job}.", "卡片无法显示全部内容，完整结果在任务 {job} 中。"
)
OPENING: Final = LocalizedText("Opening ...", "正在打开……")
SAVING: Final = LocalizedText("Saving ...", "正在保存……")
OTHER_CARD: Final = LocalizedText("This card belongs to another chat.", "此卡片属于其他会话。")
BUSY: Final = LocalizedText("Too busy now. Please try again in a minute.", "现在过于繁忙，请一分钟后再试。")
CHANGED: Final = LocalizedText(
    "Somebody else has corrected these values meanwhile. Here they are as they are now.",
    "其他人刚刚更正了这些内容，以下为最新内容。",
)
NOT_ALLOWED: Final = LocalizedText("Not saved: {why}", "未保存：{why}")
NO_LONGER_KEPT: Final = LocalizedText(
    "This result is no longer kept. Please send the document again.", "此结果已不再保存，请重新发送文档。"
)


def filled(said: LocalizedText, **values: object) -> LocalizedText:
    """The text with values; one that is a LocalizedText is put in in each language."""
    english = {name: value.en if isinstance(value, LocalizedText) else value for name, value in values.items()}
    chinese = {name: value.zh if isinstance(value, LocalizedText) else value for name, value in values.items()}
    return LocalizedText(said.en.format(**english), said.zh.format(**chinese))


def problem(code: str, detail: str = "") -> LocalizedText:
    """What an error code of the service means."""
    title = CODES[code].title if code in CODES else detail
    chinese = _chinese_problems().get(code)
    return LocalizedText(title.rstrip("."), (chinese[0] if chinese else title).rstrip("。."))


@cache
def _chinese_problems() -> dict[str, list[str]]:
    """Titles and remedies by code, as the web page shows them."""
    found: dict[str, list[str]] = orjson.loads((files("inkgate.ui") / "assets" / "problems.zh.json").read_bytes())
    return found
