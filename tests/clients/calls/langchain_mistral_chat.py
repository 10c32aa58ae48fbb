"""LangChain's chat model of Mistral: a message with an image, in one piece and streamed."""

import base64
import json
import os
from pathlib import Path

from langchain_core.messages import HumanMessage
from langchain_mistralai import ChatMistralAI

model = ChatMistralAI(
    model_name=os.environ["INKGATE_MODEL"],
    api_key=os.environ["INKGATE_KEY"],
    endpoint=f"{os.environ['INKGATE_URL']}/v1",
)
data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
image = {"type": "image_url", "image_url": f"data:image/png;base64,{data}"}
message = HumanMessage([image, {"type": "text", "text": "OCR:"}])
whole = model.invoke([message])
streamed = "".join(str(chunk.content) for chunk in model.stream([message]))
assert whole.content == streamed == "Invoice number 20417", (whole, streamed)
print(json.dumps({"text": streamed}))
