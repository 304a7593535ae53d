"""GAM: an event progression graph under a topic associative network (facts on GAAMA, section 14)."""
