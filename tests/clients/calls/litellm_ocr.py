"""LiteLLM's OCR, by Mistral's API."""

import base64
import json
import os
from pathlib import Path

import litellm

data = base64.b64encode(Path(os.environ["DOCUMENTS"], "three.pdf").read_bytes()).decode()
answer = litellm.ocr(
    model="mistral/mistral-ocr-latest",
    document={"type": "document_url", "document_url": f"data:application/pdf;base64,{data}"},
    api_base=f"{os.environ['INKGATE_URL']}/v1",
    api_key=os.environ["INKGATE_KEY"],
)
assert [page.index for page in answer.pages] == [0, 1, 2]
assert "Rainfall by station" in answer.pages[1].markdown
print(json.dumps({"pages": len(answer.pages), "model": answer.model}))
