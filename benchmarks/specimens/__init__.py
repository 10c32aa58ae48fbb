"""Specimens of papers, drawn with made-up data whose check digits hold."""
