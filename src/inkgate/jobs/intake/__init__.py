"""Events in: messages that tell of new objects become jobs."""
