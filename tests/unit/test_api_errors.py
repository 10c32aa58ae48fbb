"""The table from code to status, and problem documents."""

import pytest

from inkgate.api.http.errors import STATUSES, Problem
from inkgate.errors import CODES, ENGINE_CODES, INPUT_CODES, OVERLOAD_CODES, InputRejected, Overloaded


def test_every_code_has_its_status() -> None:
    assert STATUSES.keys() == CODES.keys()


def test_statuses_say_whose_turn_it_is() -> None:
    assert all(400 <= STATUSES[code] < 500 for code in INPUT_CODES if code != "feature_unavailable")
    assert {STATUSES[code] for code in OVERLOAD_CODES} == {429, 503, 507}
    assert all(STATUSES[code] >= 500 for code in ENGINE_CODES)


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "1"), (0.2, "1"), (1.5, "2"), (-3.0, "1"), (60.0, "60")])
def test_retry_after_is_a_whole_number_of_seconds_from_one(seconds: float, told: str) -> None:
    problem = Problem.of(Overloaded("service_full", "Full.", seconds), "id")
    assert problem.response().headers["retry-after"] == told


def test_problem_has_the_members_of_rfc_9457_and_ours() -> None:
    problem = Problem.of(InputRejected("pdf_encrypted", "It is locked."), "id-1")
    assert problem.as_dict() == {
        "type": "urn:inkgate:error:pdf_encrypted",
        "title": "The PDF needs a password",
        "status": 422,
        "detail": "It is locked.",
        "code": "pdf_encrypted",
        "remedy": "Give it as `password` in the body, or remove the encryption; then send it again.",
        "request_id": "id-1",
    }
