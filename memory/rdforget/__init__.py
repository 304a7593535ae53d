"""RD-Forget: what is stored is kept whole, and what is used is chosen at the question."""
