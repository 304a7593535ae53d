"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

# Two slow shared cores: a deadline would measure the machine, not the code.
settings.register_profile("palimpsest", deadline=None)
settings.load_profile("palimpsest")
