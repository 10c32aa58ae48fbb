"""`inkgate doctor`: finds what is wrong with a service, from its State or its settings."""
