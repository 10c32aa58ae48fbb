"""Codes: what is printed for machines, with check digits."""
