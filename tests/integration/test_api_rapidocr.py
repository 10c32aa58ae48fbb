"""What clients of rapidocr_api send and get."""

import pytest

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.api_client import b64, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


class ReadsNothing(FakeEngine):
    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return PageResult(page.index, page.size.width, page.size.height)


@pytest.mark.smoke
async def test_image_file_is_answered_line_by_line() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"image_file": ("a.png", png(), "image/png")})
    assert answer.json() == {
        "0": {"rec_txt": "Hello page 0", "dt_boxes": [[10, 10], [130, 10], [130, 30], [10, 30]], "score": 0.9},
        "1": {"rec_txt": "Grüße 世界", "dt_boxes": [[10, 40], [90, 40], [90, 60], [10, 60]], "score": 0.5},
    }


async def test_base64_is_taken_from_a_urlencoded_form() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", data={"image_data": b64(png())})
    assert answer.json()["0"]["rec_txt"] == "Hello page 0"


async def test_base64_is_taken_from_a_multipart_form() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"image_data": (None, b64(png())), "use_det": (None, "true")})
    assert answer.json()["0"]["rec_txt"] == "Hello page 0"


@pytest.mark.parametrize(
    ("switches", "keys"),
    [({"use_det": "false"}, {"rec_txt", "score"}), ({"use_rec": "0"}, {"dt_boxes"}), ({"use_rec": ""}, None)],
)
async def test_switches_choose_what_is_shown(switches: dict[str, str], keys: set[str] | None) -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"image_file": png()}, data=switches)
    assert answer.json()["0"].keys() == (keys or {"rec_txt", "dt_boxes", "score"})


async def test_use_cls_false_turns_the_check_for_upside_down_lines_off() -> None:
    async with running_api() as api:
        await api.client.post("/ocr", files={"image_file": png()}, data={"use_cls": "false"})
        await api.client.post("/ocr", files={"image_file": png()})
    assert [task.line_orientation for task in api.engine.tasks] == [False, True]


async def test_nothing_found_is_an_empty_object() -> None:
    async with running_api(ReadsNothing()) as api:
        answer = await api.client.post("/ocr", files={"image_file": png()})
    assert (answer.status_code, answer.json()) == (200, {})


async def test_lines_of_all_pages_are_numbered_through() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"image_file": tiff(2)})
    assert list(answer.json()) == ["0", "1", "2", "3"]
    assert answer.json()["2"]["rec_txt"] == "Hello page 1"
