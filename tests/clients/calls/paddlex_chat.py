"""The client by which PaddleX's PaddleOCR-VL pipeline calls a model on a server: it takes the first model listed."""

import base64
import json
import os
from pathlib import Path

from paddlex.inference.models.common.genai import GenAIClient

key = os.environ["INKGATE_KEY"]
client = GenAIClient("vllm-server", f"{os.environ['INKGATE_URL']}/v1", api_key=key)
data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}
messages = [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}]
more = {"mm_processor_kwargs": {"min_pixels": 112_896, "max_pixels": 1_003_520}, "skip_special_tokens": True}
answer = client.create_chat_completion(messages, temperature=0, max_completion_tokens=512, extra_body=more)
text = answer.choices[0].message.content
assert text == "Invoice number 20417", text
client.close()
print(json.dumps({"text": text}))
