"""`inkgate doctor`: what holds a service back and what to set, judged by what it says of itself or by its settings."""
