"""Measures the quality of `inkgate tune`: on a simulated card, and on real services against an exhaustive sweep."""
