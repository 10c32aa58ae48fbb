"""Locust with the file of our examples: two users read pages for some seconds."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

file = str(Path(__file__).parents[3] / "examples" / "locustfile.py")
load = ["--headless", "-u", "2", "-r", "2", "-t", "20s", "--stop-timeout", "30", "--csv", "seen"]
pages = ["--host", os.environ["INKGATE_URL"], "--pages", os.environ["DOCUMENTS"]]
subprocess.run([sys.executable, "-m", "locust", "-f", file, *pages, *load], check=True)
with Path("seen_stats.csv").open(encoding="utf-8") as table:
    [total] = [row for row in csv.DictReader(table) if row["Name"] == "Aggregated"]
assert int(total["Request Count"]) > 0, total
assert int(total["Failure Count"]) == 0, total
print(json.dumps({"requests": int(total["Request Count"])}))
