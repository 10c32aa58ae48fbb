"""LangChain's ChatOpenAI with an image, by chat completions and by responses, and with a request that is too long."""

import base64
import json
import os
from pathlib import Path

from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
parts = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}, {"type": "text", "text": "OCR:"}]
settings = {
    "model": os.environ["INKGATE_MODEL"],
    "base_url": f"{os.environ['INKGATE_URL']}/v1",
    "api_key": os.environ["INKGATE_KEY"],
    "temperature": 0,
}
texts = []
for responses in (False, True):
    chat = ChatOpenAI(**settings, use_responses_api=responses)
    texts += [
        chat.invoke([HumanMessage(parts)]).text,
        "".join(piece.text for piece in chat.stream([HumanMessage(parts)])),
    ]
assert texts == 4 * ["Invoice number 20417"], texts
try:
    ChatOpenAI(**settings, max_tokens=1_000_000).invoke([HumanMessage(parts)])
except ContextOverflowError as error:
    refused = type(error).__name__
print(json.dumps({"text": texts[0], "refused": refused}))
