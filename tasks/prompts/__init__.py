"""The prompts of the tasks, each beside the reader of its reply."""
