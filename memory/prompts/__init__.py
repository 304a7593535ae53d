"""The prompts of the memory core, each beside the model of its reply."""
