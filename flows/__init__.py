"""What a user starts: one module a study, and the command line."""
