"""What becomes of a real vLLM, and of what stands before it, when more is asked than it can do."""
