#!/usr/bin/env python3
"""Exits with 0 if the service in this container responds."""

import os
import sys
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

PORT = os.environ.get("INKGATE_SERVER__PORT", "7860")
try:
    # Not through a proxy of the environment, which Docker may set in every container.
    with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{PORT}/livez", timeout=4):
        pass
except (URLError, TimeoutError) as error:
    sys.exit(f"not alive: {error}")
