"""What `inkgate batch` says of all its runs: counts out of the markers, and why documents failed out of the rows."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from inkgate.batch.plan import BatchFolder, BatchPlan
from inkgate.batch.rows import BatchRow, RowFormat
from inkgate.cli.batch_command import BatchCommand
from inkgate.cli.batch_run import MAX_REASONS, BatchStanding, standing
from inkgate.settings import Settings
from inkgate.storage.objects import Objects, file_url


@pytest.mark.anyio
@pytest.mark.parametrize("rows", list(RowFormat))
async def test_reasons_are_of_failed_documents_of_this_part_and_few(tmp_path: Path, rows: RowFormat) -> None:
    folder = BatchFolder(Objects(Settings().storage), file_url(tmp_path))
    for shard in (0, 1, 3):
        failed = [] if shard == 0 else [1, 2]
        found = [
            BatchRow(f"{shard}-{at}.png", "", "", 1, "failed", "document_damaged", f"Cut off at {at}.")
            if at in failed
            else BatchRow(f"{shard}-{at}.png", "", "", 1, "complete", pages_read=2)
            for at in range(4)
        ]
        await folder.objects.put(folder.data(shard, rows.suffix), rows.dump(found))
        marker = orjson.dumps({"documents": 4, "failed": failed, "pages": 2 * (4 - len(failed))})
        await folder.objects.put(folder.done_marker(shard), marker)
    plan = BatchPlan("file:///in", rows.value, "t", shards=5, documents=20, bytes=20)

    async def of_part(index: int) -> BatchStanding | None:
        return await standing(BatchCommand(Settings(), plan.source, folder.url, rows, (index, 2)), plan)

    assert await of_part(0) == BatchStanding(4, 8, 0, ())
    odd = await of_part(1)
    assert odd is not None
    assert (odd.documents, odd.pages, odd.failed) == (4, 8, 4)
    assert odd.reasons == tuple(
        f"{shard}-{at}.png: Cut off at {at}. (document_damaged)" for shard in (1, 3) for at in (1, 2)
    )
    many = [BatchRow(f"{at}.png", "", "", 1, "failed", "x", "y") for at in range(MAX_REASONS + 5)]
    await folder.objects.put(folder.data(3, rows.suffix), rows.dump(many))
    marker = orjson.dumps({"documents": len(many), "failed": list(range(len(many))), "pages": 0})
    await folder.objects.put(folder.done_marker(3), marker)
    odd = await of_part(1)
    assert odd is not None
    assert (odd.failed, len(odd.reasons)) == (2 + len(many), MAX_REASONS)
