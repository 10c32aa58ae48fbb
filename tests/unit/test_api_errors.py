"""Problem documents, and the statuses of errors."""

import pytest

from inkgate.api.http.errors import Problem
from inkgate.errors import CODES, EngineFailed, InkgateError, InputRejected, Overloaded, error_class


def statuses_of(kind: type[InkgateError], *without: str) -> set[int]:
    return {
        meaning.status for code, meaning in CODES.items() if issubclass(error_class(code), kind) and code not in without
    }


def test_statuses_say_whose_turn_it_is() -> None:
    not_here = ("feature_unavailable", "chat_unavailable")
    assert all(400 <= status < 500 for status in statuses_of(InputRejected, *not_here))
    assert statuses_of(Overloaded) == {429, 503, 507}
    assert all(status >= 500 for status in statuses_of(EngineFailed))


@pytest.mark.parametrize(
    "error", [InputRejected("deadline_exceeded", "Late."), EngineFailed("service_timeout", "Late.")]
)
def test_a_deadline_that_passed_tells_sdks_not_to_send_the_request_again(error: InkgateError) -> None:
    headers = Problem.of(error, "id").response().headers
    assert (error.status, headers["x-should-retry"]) in {(408, "false"), (504, "false")}
    assert "retry-after" not in headers


def test_a_failure_that_may_pass_says_when_to_return() -> None:
    headers = Problem.of(EngineFailed("upstream_stalled", "It hangs."), "id").response().headers
    assert headers["retry-after"] == "30"
    assert "x-should-retry" not in headers


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
