"""Replies and vectors that several machines share, each an object of the name of its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tasks.models.entries import BrokenEntry, reply_of, vector_of
from tasks.shared import Location

Value = str | bytes


class SharedCalls:
    """The calls of a shared location. What is not as it was written counts as not there, and is written anew."""

    def __init__(self, location: Location) -> None:
        self._location = location

    def replies(self, call_ids: Sequence[str]) -> dict[str, Value]:
        """The replies that are there, as the store keeps them."""
        return self._get("replies", call_ids, lambda data: data.decode("ascii"), reply_of)

    def vectors(self, call_ids: Sequence[str]) -> dict[str, Value]:
        """The vectors that are there, as the store keeps them."""
        return self._get("vectors", call_ids, bytes, vector_of)

    def keep(self, entries: Mapping[str, Value]) -> None:
        """Write entries as the store keeps them: text is a reply, bytes are a vector."""
        self._location.put(
            {
                _path("replies", call_id) if isinstance(value, str) else _path("vectors", call_id): (
                    value.encode("ascii") if isinstance(value, str) else value
                )
                for call_id, value in entries.items()
            }
        )

    def _get(
        self,
        kind: str,
        call_ids: Sequence[str],
        decoded: Callable[[bytes], Value],
        check: Callable[[Value], object],
    ) -> dict[str, Value]:
        by_path = {_path(kind, call_id): call_id for call_id in call_ids}
        whole: dict[str, Value] = {}
        for path, data in self._location.get(by_path).items():
            try:
                value = decoded(data)
                check(value)
            except (BrokenEntry, UnicodeDecodeError):
                continue
            whole[by_path[path]] = value
        return whole


def _path(kind: str, call_id: str) -> str:
    return f"calls/{kind}/{call_id[:2]}/{call_id}"
