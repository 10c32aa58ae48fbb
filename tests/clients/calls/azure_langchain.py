"""LangChain's loader of Azure AI Document Intelligence."""

import json
import os
from pathlib import Path

from langchain_community.document_loaders import AzureAIDocumentIntelligenceLoader

seen = {}
for mode in ("markdown", "single", "page"):
    loader = AzureAIDocumentIntelligenceLoader(
        api_endpoint=os.environ["INKGATE_URL"],
        api_key=os.environ["INKGATE_KEY"],
        file_path=str(Path(os.environ["DOCUMENTS"], "three.pdf")),
        mode=mode,
    )
    documents = loader.load()
    assert "Rainfall by station" in "".join(each.page_content for each in documents)
    seen[mode] = len(documents)
    if mode == "markdown":
        assert "# Survey of the northern hills" in documents[0].page_content
        assert len(documents[0].metadata["tables"]) == 1
assert seen == {"markdown": 1, "single": 1, "page": 3}, seen
print(json.dumps(seen))
