"""The loaders of LangChain and Haystack read a document by PaddleOCR's job API."""

import json
import os

from haystack.utils import Secret
from haystack_integrations.components.converters.paddleocr import PaddleOCRVLDocumentConverter
from langchain_paddleocr import PaddleOCRVLLoader
from pydantic import SecretStr

url, key, document = os.environ["INKGATE_URL"], os.environ["INKGATE_KEY"], f"{os.environ['DOCUMENTS']}/three.pdf"
(loaded,) = PaddleOCRVLLoader(document, base_url=url, access_token=SecretStr(key)).load()
converter = PaddleOCRVLDocumentConverter(base_url=url, access_token=Secret.from_token(key))
converted = converter.run(sources=[document])["documents"]
for text in (loaded.page_content, *(each.content for each in converted)):
    pages = text.split("\f")
    assert [page.split("\n")[0].lstrip("# ") for page in pages] == [
        "Survey of the northern hills",
        "Rainfall by station",
        "Results and outlook",
    ], text
    assert "| Algeria | 120 | 310 |" in pages[1], pages[1]
assert len(converted) == 1
print(json.dumps({"langchain": len(loaded.page_content), "haystack": len(converted[0].content)}))
