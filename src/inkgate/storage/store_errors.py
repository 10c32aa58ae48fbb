"""Plain words for what went wrong at an object store or a local disk.

The errors of obstore have one type for most failures and the details in their text, which also has URLs, and so may
hold keys, tokens and the names of hosts. Only known words of it are passed on.
"""

from __future__ import annotations

import errno
import re

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,64})</Code>")
_UNKNOWN_OPTION = re.compile(r"Configuration key: '([a-z0-9_]{1,64})' is not valid|Invalid key: ([a-z0-9_]{1,64})\.")
_SENTENCES = (
    (re.compile(r"token request|/latest/(?:api/token|meta-data)"), "There are no credentials for the object store."),
    (re.compile(r"Account must be specified"), "The storage account is missing: the option `account_name`."),
    (re.compile(r"TimedOut|kind: Timeout|operation timed out"), "The object store did not answer in time."),
    (re.compile(r"error sending request|kind: Connect\b"), "The object store can't be reached."),
    (re.compile(r"builder error"), "The address is not https: that needs the option `allow_http`."),
    (
        re.compile(r"Generic Config error|failed to parse|service account file|Invalid Access Key"),
        "The value of an option is not valid.",
    ),
    (re.compile(r""), "The object store failed, or its answer broke off."),
)
"""What the text of an error says, if it has no status."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
DISK_FULL = "The disk is full."


def reason_of(error: Exception) -> str:
    """A sentence on `error` without secrets."""
    if isinstance(error, OSError):
        return _of_disk(error)
    text = str(error)
    if option := _UNKNOWN_OPTION.search(text):
        return f"There is no option `{option[1] or option[2]}`."
    without_status = next(sentence for pattern, sentence in _SENTENCES if pattern.search(text))
    if without_status == _SENTENCES[0][1]:
        return without_status  # whatever the status of the server that was asked for credentials
    status, code = _STATUS.search(text), _CODE.search(text)
    known = f" ({code[1]})" if code else ""
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return f"The object store denied access{known}."
    return f"The object store answered with status {status[1]}{known}." if status else without_status


def _of_disk(error: OSError) -> str:
    if error.errno in _FULL:
        return DISK_FULL
    if error.errno in _DENIED:
        return "inkgate may not read or write the file."
    if error.errno == errno.ELOOP:
        return "A symbolic link was changed while the file was opened."
    return f"The disk failed ({errno.errorcode.get(error.errno or 0, type(error).__name__)})."
