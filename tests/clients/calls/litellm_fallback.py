"""LiteLLM's router falls back to the model for long requests when one is too long for the first."""

import base64
import json
import os
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices when it is imported
import litellm

model = {
    "model": f"openai/{os.environ['INKGATE_MODEL']}",
    "api_base": f"{os.environ['INKGATE_URL']}/v1",
    "api_key": os.environ["INKGATE_KEY"],
}
data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
messages = [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}]
try:
    litellm.completion(**model, messages=messages, max_tokens=1_000_000)
except litellm.ContextWindowExceededError as error:
    refused = str(error)
router = litellm.Router(
    model_list=[
        {"model_name": "short", "litellm_params": model | {"max_tokens": 1_000_000}},
        {"model_name": "long", "litellm_params": model | {"max_tokens": 64}},
    ],
    context_window_fallbacks=[{"short": ["long"]}],
    num_retries=0,
)
answer = router.completion(model="short", messages=messages, temperature=0)
assert answer.choices[0].message.content == "Invoice number 20417"
assert "maximum context length is" in refused
print(json.dumps({"text": answer.choices[0].message.content}))
