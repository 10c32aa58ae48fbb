"""What PaddleX clients send and get."""

import pytest

from inkgate.errors import EngineFailed
from support.api_client import b64, pdf, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


@pytest.mark.smoke
async def test_image_is_answered_in_the_envelope() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", json={"file": b64(png()), "fileType": 1, "logId": "mine"})
    body = answer.json()
    assert (body["logId"], body["errorCode"], body["errorMsg"]) == ("mine", 0, "Success")
    assert body["result"]["dataInfo"] == {"width": 200, "height": 130, "type": "image"}
    [page] = body["result"]["ocrResults"]
    assert page.keys() == {"prunedResult", "ocrImage", "docPreprocessingImage", "inputImage"}
    pruned = page["prunedResult"]
    assert pruned["rec_texts"] == ["Hello page 0", "Grüße 世界"]
    assert pruned["rec_scores"] == [0.9, 0.5]
    assert pruned["rec_polys"][0] == pruned["dt_polys"][0] == [[10, 10], [130, 10], [130, 30], [10, 30]]
    assert pruned["rec_boxes"][0] == [10, 10, 130, 30]
    assert pruned["textline_orientation_angles"] == [0, 0]
    assert pruned["text_type"] == "general"
    assert pruned["return_word_box"] is False
    assert {"model_settings", "text_det_params", "text_rec_score_thresh"} <= pruned.keys()


async def test_options_reach_the_engine_and_are_told_back() -> None:
    options = {
        "useDocOrientationClassify": False,
        "useDocUnwarping": True,
        "useTextlineOrientation": False,
        "textDetLimitSideLen": 960,
        "textDetLimitType": "max",
        "textDetThresh": 0.3,
        "textDetBoxThresh": 0.6,
        "textDetUnclipRatio": 1.5,
        "textRecScoreThresh": 0.4,
        "visualize": True,
        "somethingNewer": 1,
    }
    async with running_api() as api:
        answer = await api.client.post("/ocr", json={"file": b64(png()), **options})
    task = api.engine.tasks[0]
    assert (task.detect_rotation, task.line_orientation, task.min_line_confidence) == (False, False, 0.4)
    assert (task.detection_threshold, task.detection_box_threshold) == (0.3, 0.6)
    assert (task.detection_unclip_ratio, task.detection_longest_side) == (1.5, 960)
    pruned = answer.json()["result"]["ocrResults"][0]["prunedResult"]
    assert pruned["model_settings"]["use_doc_unwarping"] is False
    assert pruned["model_settings"]["use_textline_orientation"] is False
    assert pruned["text_det_params"]["limit_side_len"] == 960
    assert pruned["text_rec_score_thresh"] == 0.4


async def test_words_come_when_asked_for() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", json={"file": b64(png()), "returnWordBox": True})
    pruned = answer.json()["result"]["ocrResults"][0]["prunedResult"]
    assert pruned["text_word"][0] == ["Hello", "page", "0"]
    assert pruned["text_word_boxes"][0][0] == [10, 10, 60, 30]
    assert pruned["text_word_region"][0][0] == [[10, 10], [60, 10], [60, 30], [10, 30]]


async def test_all_pages_of_a_pdf_are_answered_not_ten() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", json={"file": b64(pdf(12)), "fileType": 0})
    result = answer.json()["result"]
    assert len(result["ocrResults"]) == 12
    assert result["dataInfo"]["type"] == "pdf"
    assert result["dataInfo"]["numPages"] == 12
    assert set(result["dataInfo"]["pages"][0]) == {"width", "height"}


async def test_a_failed_page_keeps_its_place_and_says_why() -> None:
    async with running_api(FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})) as api:
        answer = await api.client.post("/ocr", json={"file": b64(tiff(3)), "fileType": 1})
    assert answer.headers["x-inkgate-status"] == "partial"
    failed = answer.json()["result"]["ocrResults"][1]["prunedResult"]
    assert (failed["error"]["code"], failed["rec_texts"]) == ("engine_failed", [])


WRONG_BODIES: list[tuple[dict[str, object], int, str]] = [
    ({"file": "###"}, 400, "base64_invalid"),
    ({"file": ""}, 400, "file_missing"),
    ({"file": b64(b"just text, no image")}, 415, "type_unsupported"),
    ({"file": b64(png()), "fileType": 7}, 422, "options_invalid"),
    ({"file": b64(png()), "textDetThresh": 3}, 422, "options_invalid"),
    ({"file": "http://example.com/a.png"}, 403, "url_forbidden"),
]


async def test_errors_come_in_the_envelope_without_a_result() -> None:
    wrong = []
    async with running_api() as api:
        for body, status, code in WRONG_BODIES:
            answer = await api.client.post("/ocr", json={**body, "logId": "mine"})
            told = answer.json()
            head = (answer.status_code, answer.headers["content-type"])
            envelope = (told["errorCode"], told["code"], told["logId"], bool(told["errorMsg"]), "result" in told)
            if (head, envelope) != ((status, "application/json"), (status, code, "mine", True, False)):
                wrong.append((body, answer.text))
    assert wrong == []
