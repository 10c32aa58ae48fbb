"""How pages are sent, and which answers are whole, in each protocol that is spoken."""

from __future__ import annotations

from inkgate.bench.load.protocols.base import Answer, Body, Verdict, Wire
from inkgate.bench.load.protocols.chat import Chat
from inkgate.bench.load.protocols.ocr import Ocr
from inkgate.bench.load.protocols.simple import Simple
from inkgate.bench.load.target import ProtocolName, Target

__all__ = ["Answer", "Body", "Verdict", "Wire", "wire_of"]


def wire_of(target: Target) -> Wire:
    """What speaks the target's protocol."""
    if target.protocol is ProtocolName.CHAT:
        return Chat(target.model, target.prompt, target.max_tokens)
    return Ocr() if target.protocol is ProtocolName.OCR else Simple()
