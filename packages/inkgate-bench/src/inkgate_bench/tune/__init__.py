"""Finds the settings under which a service answers most on this machine, and shows why."""
