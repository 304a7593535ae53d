"""Which batches are under way at providers, as files in the store's folder, so that every process finds them again.

The calls of a batch are the rows that the ledger holds for it; here is only what leads to the batch. A record is
written before anything is held or sent, and taken away after everything is collected:

- a record without its batch's name: a process ended while it submitted; whether the batch is there, the provider knows;
- a record for which the ledger holds nothing: nothing was sent, or all is collected;
- rows that the ledger holds without a record: somebody has deleted it to give the batch up; it may be billed.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.errors import BadInput
from results.tables import write_bytes
from tasks.models.ledger import Reservation
from tasks.models.spending import BATCH


class Submission(BaseModel):
    """A batch that is being submitted, or is under way.

    Attributes:
        key: What it is called here, and what the provider keeps with it.
        provider: Alias of the provider.
        batch: The provider's name for it; empty while it is being submitted.
        submitted: When, in seconds of the epoch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str = Field(pattern=r"^[0-9a-f]{32}$")
    provider: str = Field(pattern=r"^[a-z]{1,20}$")
    batch: str = Field("", pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]{0,99})?$")
    submitted: float = Field(ge=0, allow_inf_nan=False)

    @property
    def owner(self) -> Reservation:
        """The name under which the ledger holds its calls."""
        return f"{BATCH}{self.key}"


class Submissions:
    """The records of one store."""

    def __init__(self, store: Path) -> None:
        self._folder = store / "batches"

    def path(self, submission: Submission) -> Path:
        """Where a record lies."""
        return self._folder / f"{submission.key}.json"

    def all(self) -> list[Submission]:
        """All records, oldest first.

        Raises:
            BadInput: If a file is none.
        """
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                submission = Submission.model_validate_json(path.read_bytes())
            except FileNotFoundError:  # another process has just collected it
                continue
            except ValidationError as error:
                raise BadInput(f"{path}: is no record of a batch; delete it to give that batch up") from error
            if path == self.path(submission):
                found.append(submission)
        return sorted(found, key=lambda submission: submission.submitted)

    def write(self, submission: Submission) -> None:
        """Write a record, durable when this returns."""
        write_bytes(self.path(submission), submission.model_dump_json().encode())

    def has(self, submission: Submission) -> bool:
        """Whether the record is still there."""
        return self.path(submission).exists()

    def drop(self, submission: Submission) -> None:
        """Take a record away."""
        self.path(submission).unlink(missing_ok=True)
