"""OpenAI's chat completions with an image, in one piece and streamed."""

import base64
import json
import os
from pathlib import Path

from openai import OpenAI

client = OpenAI(api_key=os.environ["INKGATE_KEY"], base_url=f"{os.environ['INKGATE_URL']}/v1")
model = os.environ["INKGATE_MODEL"]
data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
messages = [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}]
whole = client.chat.completions.create(model=model, messages=messages, temperature=0)
stream = client.chat.completions.create(model=model, messages=messages, temperature=0, stream=True)
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
assert whole.choices[0].message.content == streamed == "Invoice number 20417"
assert model in [listed.id for listed in client.models.list()]
print(json.dumps({"text": streamed, "finish_reason": whole.choices[0].finish_reason}))
