"""LiteLLM: a completion in one piece and streamed, a wrong key, and an unknown model."""

import base64
import json
import os
from pathlib import Path

import litellm

data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
messages = [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}]
service = {"api_base": f"{os.environ['INKGATE_URL']}/v1", "api_key": os.environ["INKGATE_KEY"]}
model = f"openai/{os.environ['INKGATE_MODEL']}"
whole = litellm.completion(model=model, messages=messages, **service)
stream = litellm.completion(model=model, messages=messages, stream=True, **service)
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
assert whole.choices[0].message.content == streamed == "Invoice number 20417"
refused = []
for changes in ({"api_key": "wrong"}, {"model": "openai/no-such-model"}):
    try:
        litellm.completion(**{"model": model, "messages": messages, **service, **changes})
    except (litellm.AuthenticationError, litellm.NotFoundError) as error:
        refused.append(type(error).__name__)
assert refused == ["AuthenticationError", "NotFoundError"], refused
print(json.dumps({"text": streamed, "refused": refused}))
