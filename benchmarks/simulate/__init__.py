"""Simulates the serving code under load, on a model of vLLM and a virtual clock: seeded, minutes in seconds."""
