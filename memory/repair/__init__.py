"""Repair of graph memories: what a question fails on is looked for, added, and checked (GRAFT; Paul et al., 2026)."""
