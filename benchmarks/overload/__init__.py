"""A real vLLM, alone and behind gateways, under more load than it can serve."""
