"""LlamaIndex's model for services like OpenAI's: a message with an image, in one piece and streamed."""

import json
import os
from pathlib import Path

from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.llms.openai_like import OpenAILike

model = OpenAILike(
    model=os.environ["INKGATE_MODEL"],
    api_key=os.environ["INKGATE_KEY"],
    api_base=f"{os.environ['INKGATE_URL']}/v1",
    is_chat_model=True,
)
image = Path(os.environ["DOCUMENTS"], "line.png")
message = ChatMessage(role="user", blocks=[ImageBlock(path=image), TextBlock(text="OCR:")])
whole = model.chat([message])
streamed = "".join(chunk.delta or "" for chunk in model.stream_chat([message]))
assert whole.message.content == streamed == "Invoice number 20417", (whole, streamed)
print(json.dumps({"text": streamed}))
