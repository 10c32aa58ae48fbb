"""Load tests of any OCR service: closed and open loops, recorded traffic, steps of load up to the knee."""


class LoadImpossible(Exception):
    """The load test can't be made: there is nothing to send, or nobody to send it to. The message says what to do."""
