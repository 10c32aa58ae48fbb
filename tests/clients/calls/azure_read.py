"""Azure AI Document Intelligence: the layout of a PDF."""

import json
import os
from pathlib import Path

from azure.ai.documentintelligence import DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential

client = DocumentIntelligenceClient(os.environ["INKGATE_URL"], AzureKeyCredential(os.environ["INKGATE_KEY"]))
with Path(os.environ["DOCUMENTS"], "three.pdf").open("rb") as file:
    result = client.begin_analyze_document("prebuilt-layout", body=file).result()
assert [page.page_number for page in result.pages] == [1, 2, 3]
assert "Rainfall by station" in result.content
words = [word.content for word in result.pages[1].words]
assert "Algeria" in words, words
print(json.dumps({"pages": len(result.pages), "words": [len(page.words) for page in result.pages]}))
