"""The page itself: sections in a frame, the browser's data in blocks, and a policy that forbids all else.

Whatever comes from data or models is escaped by Jinja, or set as text by the scripts; nothing of it is ever markup,
script, style or address.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from memory.errors import BadInput
from results.report.elements import Section
from results.report.packing import Packed

if TYPE_CHECKING:
    from jinja2 import Environment

_SCRIPTS = ("text.js", "blocks.js", "filters.js", "list.js", "question.js", "main.js")
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture of the run.

    Attributes:
        kind: `png` or `svg+xml`.
    """

    name: str
    kind: str
    data: bytes

    @property
    def base64(self) -> str:
        """The picture's bytes."""
        return base64.b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class Page:
    """What a report says.

    Attributes:
        title: Its heading.
        subtitle: What it is about, in a line.
        warning: What a reader must know first; empty if there is nothing.
        made: By which program, and from the run as of when.
        questions: The browser's data; none if no question is there yet.
    """

    title: str
    subtitle: str
    warning: str
    made: str
    sections: Sequence[Section]
    figures: Sequence[Figure]
    questions: Packed | None


def render(page: Page) -> bytes:
    """The page as one HTML file.

    Raises:
        BadInput: If jinja2 is missing.
    """
    script = '"use strict";\n' + "\n".join(map(asset, _SCRIPTS))
    return self_contained(asset("page.html"), asset("style.css"), script, page=page)


def self_contained(template: str, style: str, script: str, **values: Any) -> bytes:
    """One HTML file whose policy allows its own style and script, by their hashes, and nothing else.

    Args:
        template: Jinja's text of the page; it places `policy`, `style` and `script`.
        style: Of the project's own files.
        script: Of the project's own files, or of a library's.
        values: What else the template places; all of it is escaped.

    Raises:
        BadInput: If jinja2 is missing.
    """
    environment = _environment()
    from markupsafe import Markup  # comes with jinja2, whose absence is told above

    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        environment.from_string(template)
        .render(
            policy=policy,
            style=Markup(style),  # noqa: S704 the project's own files
            script=Markup(script),  # noqa: S704
            **values,
        )
        .encode("utf-8", "replace")
    )


def visible(value: Any) -> Any:
    """A text with what steers a reader's view (controls, overrides of direction) as a name that can be seen."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _STEERING.sub(lambda found: f"\u2039U+{ord(found[0]):04X}\u203a", value)


def _environment() -> Environment:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise BadInput("reports need jinja2: pip install 'palimpsest[report]'") from error
    return Environment(
        autoescape=True,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def asset(name: str, package: str = "results.report") -> str:
    """The text of one of the project's own files for pages."""
    return (files(package) / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
