"""MinerU 4's command line with a remote service, and its Python client."""

import json
import os
import subprocess
import sys
from pathlib import Path

from mineru.parser import MinerUApiParser

pdf = Path(os.environ["DOCUMENTS"]) / "three.pdf"
url, key = os.environ["INKGATE_URL"], os.environ["INKGATE_KEY"]
kit = [str(Path(sys.executable).parent / "mineru-kit"), "parse", str(pdf), "--remote-url", url, "--api-key", key]
subprocess.run([*kit, "-o", "three.md"], check=True)
markdown = Path("three.md").read_text("utf-8")
assert markdown.count("](data:image/") == 3, markdown[:2000]
assert "Rainfall by station" in markdown
result = MinerUApiParser(api_url=url, api_key=key).parse(pdf, page_range="2-3")
blocks = [[block.type for block in page.blocks] for page in result.pages]
assert len(blocks) == 2
assert sum(kinds.count("table") for kinds in blocks) == 1, blocks
print(json.dumps({"blocks": blocks}))
