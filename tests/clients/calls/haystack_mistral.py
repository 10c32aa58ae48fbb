"""Haystack's converter of Mistral OCR."""

import json
import os
from pathlib import Path

from haystack.utils import Secret
from haystack_integrations.components.converters.mistral import MistralOCRDocumentConverter

converter = MistralOCRDocumentConverter(
    api_key=Secret.from_token(os.environ["INKGATE_KEY"]), api_base_url=os.environ["INKGATE_URL"]
)
found = converter.run(sources=[Path(os.environ["DOCUMENTS"], "three.pdf")])
[document] = found["documents"]
assert document.content.count("\f") == 2
assert "Rainfall by station" in document.content
print(json.dumps({"characters": len(document.content), "meta": document.meta}, default=str))
