"""`inkgate key`: a new API key, and the hash that settings keep of it."""

from __future__ import annotations

import secrets


def key() -> None:
    """Create an API key. It is shown once; the settings hold only its hash.

    Nothing is stored. Add the hash to the service's settings and give the key to its user.
    """
    from inkgate.api.http.auth import hash_key

    # 256 bits: can't be guessed, so a fast hash is enough to keep. The prefix lets secret scanners know it.
    secret = "inkgate_" + secrets.token_urlsafe(32)
    hashed = hash_key(secret)
    print(f"""\
API key (shown only now; keep it like a password):

    {secret}

Its hash, for the service. In the settings file (more than one key: more entries):

    [auth]
    key_hashes = ["{hashed}"]

or in the environment:

    INKGATE_AUTH__KEY_HASHES='["{hashed}"]'

Clients then send the key with each request:

    curl -H 'Authorization: Bearer {secret}' -F file=@page.png http://127.0.0.1:7860/ocr""")
