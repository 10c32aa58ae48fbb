"""The same pages through several engines, one after the other, on this machine: speed, memory, errors, accuracy."""
