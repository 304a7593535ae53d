"""Prefect for a local run: a short-lived API server, its log in a file, nothing on the terminal.

A user who has a server (PREFECT_API_URL) keeps every setting of it. Without one, Prefect starts a server for this
process alone, which nobody can look at. Its services that record task runs for the UI would only fill a queue that it
then fails to drain at shutdown, so they are not started; flow runs are recorded all the same. All that Prefect logs
goes to `prefect.log` in the run folder; failures reach the terminal as the states of the task runs. What a run keeps in
Prefect's storage is JSON: nothing is pickled, so nothing that somebody else could have written is unpickled.
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
    settings = {
        "PREFECT_LOGGING_SETTINGS_PATH": str(Path(__file__).with_name("prefect_logging.yml")),
        "PREFECT_LOGGING_HANDLERS_FILE_FILENAME": str(folder / "prefect.log"),
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
    }
    if "PREFECT_API_URL" not in os.environ:
        settings |= _SHORT_LIVED_SERVER
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    logging.raiseExceptions = False  # a log that cannot be written, as on a full disk, fills no terminal
