"""Haystack's chat generator of OpenAI with an image."""

import json
import os
from pathlib import Path

from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent
from haystack.utils import Secret

generator = OpenAIChatGenerator(
    api_key=Secret.from_token(os.environ["INKGATE_KEY"]),
    model=os.environ["INKGATE_MODEL"],
    api_base_url=f"{os.environ['INKGATE_URL']}/v1",
)
image = ImageContent.from_file_path(Path(os.environ["DOCUMENTS"], "line.png"))
[reply] = generator.run([ChatMessage.from_user(content_parts=[image, "OCR:"])])["replies"]
assert reply.text == "Invoice number 20417", reply
print(json.dumps({"text": reply.text}))
