"""The reference use, end to end on one machine: receipts land in a bucket, events tell of them, rows arrive in a table.

    python examples/receipts/demo.py [--receipts 30] [--picture rows.svg]

Starts what it needs (see servers.py), uploads receipts, publishes an S3 event for each (some twice, as brokers do), and
shows the rows as they arrive. Ends with status 0 if there is one row for each receipt, and its text has the total.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote_plus

import obstore
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from obstore.store import S3Store
from rich.console import Console
from rich.live import Live
from rich.table import Table
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

sys.path.insert(0, str(Path(__file__).parent))
import servers
from drawing import Receipt, draw

BUCKET = "receipts"
TOPIC = "receipts"
_DEADLINE_S = 600.0
_SHOWN = 12


def main() -> int:
    """Runs the demo; returns the exit status."""
    parser = argparse.ArgumentParser(description="Receipts from a bucket into a table.")
    parser.add_argument("--receipts", type=int, default=30)
    parser.add_argument("--workers", type=int, default=0, help="1: run jobs in a second process, too")
    parser.add_argument("--picture", type=Path, help="write what is shown at the end as SVG")
    asked = parser.parse_args()
    console = Console(record=asked.picture is not None, width=100)
    receipts = [draw(index) for index in range(asked.receipts)]
    with tempfile.TemporaryDirectory(prefix="inkgate-receipts-") as name, ExitStack() as stack:
        folder = Path(name)
        console.print("Starting a broker, an S3 server, a database and inkgate ...")
        store_url = stack.enter_context(servers.object_store(folder / "s3", BUCKET))
        kafka = stack.enter_context(servers.broker(folder / "kafka"))
        database_url = stack.enter_context(servers.database(folder / "database"))
        engine = make_table(database_url)
        stack.callback(engine.dispose)
        asyncio.run(make_topic(kafka))
        config = folder / "inkgate.toml"
        config.write_text(settings(folder, store_url, kafka, database_url))
        service = stack.enter_context(servers.inkgate(folder / "inkgate", config, workers=asked.workers))
        console.print(f"inkgate is at {service}. Uploading {len(receipts)} receipts; every fifth event comes twice.")
        begun = time.monotonic()
        asyncio.run(publish(receipts, store_url, kafka))
        rows = watch(engine, len(receipts), begun, console)
        status = judge(receipts, rows, console)
        if status:
            console.print((folder / "inkgate" / "log").read_text(errors="replace")[-4000:], markup=False)
    if asked.picture is not None:
        svg = console.export_svg(title="make receipts-demo")
        # Without rich's fonts, which a browser would fetch from elsewhere.
        asked.picture.write_text(re.sub(r"@font-face \{.*?\}|<!-- .*? -->", "", svg, flags=re.DOTALL), encoding="utf-8")
    return status


def settings(folder: Path, store_url: str, kafka: str, database_url: str) -> str:
    """The settings of the service; inkgate.toml beside this file has them with comments."""
    return f"""
[jobs]
folder = "{folder / "jobs"}"

[ui]
enabled = false

[metrics]
port = 0

[storage.options."s3://{BUCKET}"]
endpoint = "{store_url}"
allow_http = "true"
access_key_id = "demo"
secret_access_key = "demo"

[pipelines.receipts]
sources = ["s3://{BUCKET}/in/"]
task = "text"
sinks = ["shop", "texts"]

[intake.arrivals]
kind = "kafka"
address = "{kafka}"
topic = "{TOPIC}"

[sinks.shop]
kind = "table"
database = "{database_url}"
table = "receipts"
key = ["object"]

[sinks.shop.columns]
object = "source.url"
content = "document.text"
pages = "document.page_count"
job = "job.id"

[sinks.texts]
kind = "objects"
url = "s3://{BUCKET}/out/"
formats = ["markdown"]
"""


def make_table(database_url: str) -> Engine:
    """Makes the shop's table: any that has a unique key will do."""
    url = make_url(database_url)
    engine = create_engine(url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url)
    with engine.begin() as connection:
        connection.execute(
            text("CREATE TABLE receipts (object TEXT PRIMARY KEY, content TEXT NOT NULL, pages INTEGER, job TEXT)")
        )
    return engine


async def make_topic(kafka: str) -> None:
    """Makes the topic, as an operator would."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(TOPIC, 4, 1), NewTopic(f"{TOPIC}-dead", 1, 1)])
    finally:
        await admin.close()


async def publish(receipts: list[Receipt], store_url: str, kafka: str) -> None:
    """Uploads the receipts, and publishes an event for each, as S3 or MinIO would."""
    store = S3Store(
        BUCKET,
        endpoint=store_url,
        access_key_id="demo",
        secret_access_key="demo",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    await producer.start()
    try:
        for index, receipt in enumerate(receipts):
            key = f"in/2026-11/receipt {receipt.number}.png"
            put = await obstore.put_async(store, key, receipt.png)
            for _ in range(2 if index % 5 == 0 else 1):
                await producer.send_and_wait(TOPIC, event(key, str(put["e_tag"]).strip('"'), len(receipt.png)))
    finally:
        await producer.stop()


def event(key: str, etag: str, size: int) -> bytes:
    """The event that S3 sends for a new object."""
    entity = {"bucket": {"name": BUCKET}, "object": {"key": quote_plus(key, safe="/"), "eTag": etag, "size": size}}
    return json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "eventSource": "aws:s3", "s3": entity}]}).encode()


def watch(engine: Engine, wanted: int, begun: float, console: Console) -> dict[str, str]:
    """Shows the rows as they arrive. Returns text by object once there are enough, or time is over."""
    with Live(console=console, refresh_per_second=4) as live:
        while True:
            with engine.connect() as connection:
                found = connection.execute(text("SELECT object, content FROM receipts ORDER BY object"))
                rows = {row.object: row.content for row in found}
            live.update(shown(rows, time.monotonic() - begun))
            if len(rows) >= wanted or time.monotonic() - begun > _DEADLINE_S:
                return rows
            time.sleep(0.25)


def shown(rows: dict[str, str], spent_s: float) -> Table:
    """The rows as a table."""
    table = Table(title=f"table receipts: {len(rows)} rows after {spent_s:.1f} s")
    for name in ("object", "first line", "last line"):
        table.add_column(name, no_wrap=True)
    for name, content in list(rows.items())[:_SHOWN]:
        lines = content.strip().split("\n")
        table.add_row(name, lines[0], lines[-1])
    if len(rows) > _SHOWN:
        table.add_row(f"... and {len(rows) - _SHOWN} more")
    return table


def judge(receipts: list[Receipt], rows: dict[str, str], console: Console) -> int:
    """Says whether there is one row for each receipt with its total."""
    found = {name.rpartition(" ")[2].removesuffix(".png"): content for name, content in rows.items()}
    missing = [receipt.number for receipt in receipts if receipt.number not in found]
    wrong = [each.number for each in receipts if each.number in found and each.total not in found[each.number]]
    console.print(
        f"{len(receipts)} receipts, {len(rows)} rows, {len(missing)} missing, {len(wrong)} without the total."
    )
    return 1 if missing or wrong or len(rows) != len(receipts) else 0


if __name__ == "__main__":
    os.environ.pop("INKGATE_CONFIG", None)
    sys.exit(main())
