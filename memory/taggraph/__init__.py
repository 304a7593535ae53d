"""TAGGRAPH's family: memories over shared notes of who, what, when, where and why (Chen et al., 2026)."""
