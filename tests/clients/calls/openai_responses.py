"""OpenAI's Responses API with an image, in one piece, streamed, and by the helper that collects events."""

import base64
import json
import os
from pathlib import Path

from openai import OpenAI

client = OpenAI(api_key=os.environ["INKGATE_KEY"], base_url=f"{os.environ['INKGATE_URL']}/v1")
model = os.environ["INKGATE_MODEL"]
data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
parts = [
    {"type": "input_image", "image_url": f"data:image/png;base64,{data}", "detail": "auto"},
    {"type": "input_text", "text": "OCR:"},
]
request = {"model": model, "input": [{"role": "user", "content": parts}], "temperature": 0}
whole = client.responses.create(**request)
events = list(client.responses.create(**request, stream=True))
with client.responses.stream(**request) as stream:
    collected = stream.get_final_response()
streamed = "".join(event.delta for event in events if event.type == "response.output_text.delta")
assert whole.output_text == streamed == collected.output_text == "Invoice number 20417"
assert (whole.status, events[0].type, events[-1].type) == ("completed", "response.created", "response.completed")
print(json.dumps({"text": streamed, "events": len(events)}))
