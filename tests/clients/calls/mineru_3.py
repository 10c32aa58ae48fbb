"""MinerU 3's command line with a remote API."""

import json
import os
import subprocess
import sys
from pathlib import Path

pdf = Path(os.environ["DOCUMENTS"]) / "three.pdf"
mineru = str(Path(sys.executable).parent / "mineru")
subprocess.run([mineru, "-p", str(pdf), "-o", "out", "--api-url", os.environ["INKGATE_URL"]], check=True)
folder = Path("out/three/hybrid_auto")
content = json.loads((folder / "three_content_list.json").read_text("utf-8"))
pages = {kind: [entry["page_idx"] for entry in content if entry["type"] == kind] for kind in ("image", "table")}
assert pages == {"image": [0, 1, 2], "table": [1]}, pages
assert [entry["page_idx"] for entry in content if entry.get("text_level")] == [0, 1, 2]
paths = [entry["img_path"] for entry in content if entry["type"] == "image"]
assert len(set(paths)) == 3, paths
markdown = (folder / "three.md").read_text("utf-8")
assert all((folder / path).is_file() and f"]({path})" in markdown for path in paths)
middle = json.loads((folder / "three_middle.json").read_text("utf-8"))
assert [page["page_idx"] for page in middle["pdf_info"]] == [0, 1, 2]
print(json.dumps(pages))
