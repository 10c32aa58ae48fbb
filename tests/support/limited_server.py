"""The service with fewer open files, as many systems have it: `python -m support.limited_server FILES serve ...`."""

from __future__ import annotations

import resource
import sys

from inkgate.cli.app import main

if __name__ == "__main__":
    files = int(sys.argv.pop(1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    main()
