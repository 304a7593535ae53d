"""Deterministic models that need no language model, no server and no network."""
