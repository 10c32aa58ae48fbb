"""inkgate's reader for LlamaIndex, with llama-index-core and inkgate's client alone."""

import json
import os
from pathlib import Path

from llama_index.core import SimpleDirectoryReader

from inkgate_client.llamaindex import InkgateReader

reader = InkgateReader(server=os.environ["INKGATE_URL"], key=os.environ["INKGATE_KEY"])
folder = SimpleDirectoryReader(os.environ["DOCUMENTS"], required_exts=[".pdf"], file_extractor={".pdf": reader})
documents = folder.load_data()
assert [document.metadata["page_label"] for document in documents] == ["1", "2", "3"]
assert documents[1].text.startswith("# Rainfall by station")
direct = reader.load_data(Path(os.environ["DOCUMENTS"], "report.png"))
assert "Gaza & West Bank" in direct[0].text
print(json.dumps({"pages": [document.metadata["page_label"] for document in documents]}))
