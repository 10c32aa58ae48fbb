"""Reports of load tests and of searches for settings: one HTML file, charts, tables, and two runs side by side."""
