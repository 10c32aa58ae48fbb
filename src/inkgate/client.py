"""The client of a running service, for programs that have inkgate: the names of the package inkgate_client."""

from inkgate_client import *  # noqa: F403
from inkgate_client import __all__  # noqa: F401
