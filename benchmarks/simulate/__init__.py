"""The serving code under load, on a model of vLLM and a virtual clock: minutes of overload in seconds, by a seed."""
