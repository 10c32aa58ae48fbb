"""Worker processes: a pool whose calls take turns, one process behind each slot, and what is sent to them."""
