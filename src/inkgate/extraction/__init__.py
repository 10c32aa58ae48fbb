"""Fields of whole documents: what callers ask for, who proposes values, and what stands in the answer."""
