"""ReasoningBank-style items: what successes and failures teach, found by their query (facts on GAAMA, section 14)."""
