"""Plain words for the errors of object stores, whose texts hold URLs and may hold secrets."""

from __future__ import annotations

import errno

from obstore.exceptions import GenericError, PermissionDeniedError, UnauthenticatedError

from inkgate.storage.objects import DISK_FULL, reason_of

URL = "https://account.example/scans/a.pdf?sig=s3cret"


def test_each_failure_has_its_words_and_no_url() -> None:
    cases: dict[Exception, str] = {
        PermissionDeniedError(
            f"Error performing GET {URL} - Server returned status code: 403 Forbidden: <Code>AccessDenied</Code>"
        ): "The object store denied access (AccessDenied).",
        UnauthenticatedError(f"GET {URL} status code: 401"): "The object store denied access.",
        GenericError(
            f"GET {URL} - Server returned non-2xx status code: 503 : <Error><Code>SlowDown</Code>"
        ): "The object store answered with status 503 (SlowDown).",
        GenericError(
            f"GET {URL} status code: 400: <Code>a b {URL}</Code>"
        ): "The object store answered with status 400.",
        GenericError(
            "Error performing PUT http://169.254.169.254/latest/api/token - status code: 403"
        ): "There are no credentials for the object store.",
        GenericError(
            f"Error performing token request: Error performing GET {URL}"
        ): "There are no credentials for the object store.",
        GenericError("Account must be specified"): "The storage account is missing: the option `account_name`.",
        GenericError(f"GET {URL} HTTP error: error sending request"): "The object store can't be reached.",
        GenericError(f"GET {URL} source: TimedOut"): "The object store did not answer in time.",
        GenericError(f"GET {URL} builder error"): "The address is not https: that needs the option `allow_http`.",
        GenericError('Generic Config error: failed to parse "s3cret"'): "The value of an option is not valid.",
        GenericError(f"{URL} Content-Length missing"): "The object store failed, or its answer broke off.",
        OSError(errno.ENOSPC, "x", "/s3cret"): DISK_FULL,
        OSError(errno.EDQUOT, "x", "/s3cret"): DISK_FULL,
        PermissionError(errno.EACCES, "x", "/s3cret"): "inkgate may not read or write the file.",
        OSError(errno.EIO, "x", "/s3cret"): "The disk failed (EIO).",
        OSError("s3cret"): "The disk failed (OSError).",
    }
    assert {error: reason_of(error) for error in cases} == cases
