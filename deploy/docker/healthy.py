#!/usr/bin/env python3
"""Exits with 0 if the service in this container responds."""

import os
import sys
from urllib.error import URLError
from urllib.request import urlopen

try:
    with urlopen(f"http://127.0.0.1:{os.environ.get('INKGATE_SERVER__PORT', '7860')}/livez", timeout=4):
        pass
except (URLError, TimeoutError) as error:
    sys.exit(f"not alive: {error}")
