"""An ACE-style playbook: bullets with counters, grown by small additions (facts on GAAMA, section 14)."""
