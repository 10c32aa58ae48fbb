"""Clients that send many requests at once, with their own defaults."""
