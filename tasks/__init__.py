"""The steps of a study. Each stage is plain Python and becomes one Prefect task in `tasks.orchestrate`."""
