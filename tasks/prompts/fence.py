"""Delimiting text that was written by others inside a prompt."""

from __future__ import annotations

from hashlib import sha256


def fenced(name: str, text: str) -> str:
    """`text` between two marker lines that it cannot contain.

    The markers carry a hash of the text, so a text that holds its own closing marker cannot be written
    down; fixed tags could be closed from inside. The same text always gets the same markers, and so the
    same call.
    """
    mark = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"
