"""What Feishu sends: messages and presses of buttons, as the bot uses them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson

Json = Mapping[str, Any]

MAX_FILES: Final = 10
"""Maximum files of one message; a rich text can hold any number of pictures."""
_LONGEST_NAME: Final = 120
_MENTION = re.compile(r"@_(?:user_\d+|all)")


@dataclass(frozen=True, slots=True)
class ChatFile:
    """A file in a chat. `message_id`: of the message that has it; `kind`: `image` or `file`."""

    message_id: str
    key: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message to the bot.

    Attributes:
        id: answers are replies to it, so they can't reach another chat.
        direct: whether the chat has no others than the sender and the bot.
        words: its text, without mentions.
        parents: messages that it is a reply to, the nearest first.
    """

    id: str
    chat: str
    sender: str
    direct: bool
    words: str
    files: tuple[ChatFile, ...]
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardPress:
    """A press of a button on a card of the bot.

    Attributes:
        action: `correct`, `save` or `close`.
        message: the card's.
        by: who pressed.
        version: of the fields that the card showed.
        paths: of the values, by the names of the form's inputs.
        form: texts by names of inputs.
    """

    action: str
    job: str
    chat: str
    message: str
    by: str
    version: int | None
    paths: Mapping[str, str]
    form: Mapping[str, str]


def is_direct(event: Json) -> bool:
    """Whether the message of the event `im.message.receive_v1` is in a chat of one person with the bot."""
    return _part(event, "message").get("chat_type") == "p2p"


def parse_message(event: Json, bot: str | None = None) -> ChatMessage | None:
    """The message in the event `im.message.receive_v1`; None: it is not for the bot, whose open ID is `bot`. In a chat
    of several people, the bot is spoken to by a mention. Without `bot`: it is known that it is.
    """
    message, sender = _part(event, "message"), _part(event, "sender")
    direct = is_direct(event)
    mentioned = [_part(each, "id").get("open_id") for each in message.get("mentions") or ()]
    if sender.get("sender_type") not in (None, "user") or not (direct or bot is None or bot in mentioned):
        return None
    found = message_files(message, str(message.get("message_id") or ""))
    parents = [str(message[name]) for name in ("parent_id", "root_id") if message.get(name)]
    return ChatMessage(
        str(message.get("message_id") or ""),
        str(message.get("chat_id") or ""),
        str(_part(sender, "sender_id").get("open_id") or ""),
        direct,
        _words(message),
        found,
        tuple(dict.fromkeys(parents)),
    )


def message_files(message: Json, message_id: str) -> tuple[ChatFile, ...]:
    """The pictures and files of a message, as events and the message's own resource have it."""
    content = _content(message)
    kind = message.get("message_type") or message.get("msg_type")
    if kind == "image" and content.get("image_key"):
        return (ChatFile(message_id, str(content["image_key"]), "image", "photo"),)
    if kind == "file" and content.get("file_key"):
        return (ChatFile(message_id, str(content["file_key"]), "file", _file_name(content.get("file_name"))),)
    if kind == "post":
        keys = [str(part["image_key"]) for part in _post_parts(content) if part.get("image_key")]
        return tuple(ChatFile(message_id, key, "image", "photo") for key in dict.fromkeys(keys))[:MAX_FILES]
    return ()


def parse_press(event: Json, secret: str) -> CardPress | None:
    """The press in the event `card.action.trigger`; None: the card is not the bot's, or was shown in another chat."""
    action, context = _part(event, "action"), _part(event, "context")
    value, form = _part(action, "value"), _part(action, "form_value")
    job, chat = str(value.get("job") or ""), str(context.get("open_chat_id") or "")
    proof = str(value.get("proof") or "").encode()
    if not job or not hmac.compare_digest(proof, card_proof(secret, job, chat).encode()):
        return None
    version = value.get("version")
    return CardPress(
        str(value.get("action") or ""),
        job,
        chat,
        str(context.get("open_message_id") or ""),
        str(_part(event, "operator").get("open_id") or ""),
        version if isinstance(version, int) else None,
        {str(name): str(path) for name, path in _part(value, "paths").items()},
        {str(name): text for name, text in form.items() if isinstance(text, str)},
    )


def card_proof(secret: str, job: str, chat: str) -> str:
    """Says in a card that the bot sent it for this job into this chat."""
    return hmac.new(secret.encode(), f"inkgate card\n{job}\n{chat}".encode(), sha256).hexdigest()[:32]


def _part(value: Any, name: str) -> Json:  # noqa: ANN401 - JSON
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _content(message: Json) -> Json:
    content = message.get("content") or _part(message, "body").get("content")
    try:
        found = orjson.loads(content or "{}")
    except (orjson.JSONDecodeError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _post_parts(content: Json) -> list[Json]:
    """The parts of a rich text. In events, the language is left out."""
    if "content" not in content:
        content = next((each for each in content.values() if isinstance(each, dict)), {})
    rows = content.get("content")
    rows = rows if isinstance(rows, Sequence) else ()
    return [part for row in rows if isinstance(row, list) for part in row if isinstance(part, dict)]


def _words(message: Json) -> str:
    content = _content(message)
    if message.get("message_type") == "post":
        title = content.get("title")
        texts = [str(part.get("text") or "") for part in _post_parts(content) if part.get("tag") == "text"]
        said = " ".join([title if isinstance(title, str) else "", *texts])
    else:
        said = str(content.get("text") or "")
    return " ".join(_MENTION.sub(" ", said).split())


def _file_name(name: object) -> str:
    shown = "".join(sign for sign in str(name or "") if sign.isprintable() and sign not in "/\\")
    return shown[-_LONGEST_NAME:] or "document"
