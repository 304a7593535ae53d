"""Prefect for a local run: a short-lived API server, its log in a file, nothing on the terminal.

A user who has a server (PREFECT_API_URL) keeps every setting. Without one, Prefect starts a server for this process
alone, which nobody can look at. Its services that record task runs for the UI would only fill a queue that it then
fails to drain at shutdown, so they are not started; flow runs are recorded all the same. All that Prefect logs goes
to `prefect.log` in the run folder; failures reach the terminal as the states of the task runs.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

_SHORT_LIVED_SERVER = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}


def quiet_prefect(folder: Path) -> None:
    """Set Prefect up for a run from the command line; must come before Prefect is imported."""
    if "PREFECT_API_URL" not in os.environ:
        for name, value in _SHORT_LIVED_SERVER.items():
            os.environ.setdefault(name, value)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")
    import prefect  # noqa: F401  (sets up its loggers)

    to_file = logging.FileHandler(folder / "prefect.log", encoding="utf-8", delay=True)
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("prefect", "prefect.flow_runs", "prefect.task_runs"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            if type(handler).__name__ == "PrefectConsoleHandler":
                logger.removeHandler(handler)
        if not logger.propagate or name == "prefect":
            logger.addHandler(to_file)
