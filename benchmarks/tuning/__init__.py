"""How well settings are found: on a simulated card, and on real services against an exhaustive sweep."""
