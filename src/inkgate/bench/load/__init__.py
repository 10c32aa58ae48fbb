"""Load on a running service, and what it shows: how fast, up to where, and what breaks first."""
