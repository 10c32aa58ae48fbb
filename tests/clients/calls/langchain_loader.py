"""inkgate's loader for LangChain, with langchain-core and inkgate's client alone."""

import json
import os
from pathlib import Path

from inkgate_client.langchain import InkgateLoader

files = [Path(os.environ["DOCUMENTS"], name) for name in ("three.pdf", "report.png")]
loader = InkgateLoader(files, server=os.environ["INKGATE_URL"], key=os.environ["INKGATE_KEY"])
documents = loader.load()
assert [document.metadata["page"] for document in documents] == [0, 1, 2, 0]
assert documents[1].page_content.startswith("# Rainfall by station")
assert "| Gaza & West Bank | 2.60 |" in documents[3].page_content
print(json.dumps({"pages": [document.metadata["page_label"] for document in documents]}))
