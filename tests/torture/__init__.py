"""Studies that are killed, lied to and starved, and what must be true of them all the same."""
