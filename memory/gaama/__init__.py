"""GAAMA: verbatim episodes with facts, concepts and reflections hung on them (Paul et al., 2026)."""
