"""The instruments: load test, tuning, comparison of engines, accuracy, and their reports."""
