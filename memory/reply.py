"""Tolerant reading of JSON that a language model wrote.

Models wrap JSON in a markdown fence, put prose around it, think aloud before it, leave a trailing comma, or
hand back the schema that they were given (pitfalls 18 and 21). A reply that was cut off is not completed:
that would be a guess.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

R = TypeVar("R", bound=BaseModel)

ATTEMPTS = 64
"""How many opening brackets are tried, so that a reply made of brackets costs no quadratic time."""

_THINKING = re.compile(r"<(/?)(think|thinking|reasoning)>", re.IGNORECASE)
# Possessive, and a string may end with the text: else a string that never closes takes quadratic time.
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
_CLOSING = re.compile(r",?\s*[}\]]")
_OPENING = re.compile(r"[{\[]")
_BEGUN = re.compile(r"\{\s*\"|\[\s*\{")


class RepeatedKeys(dict[str, Any]):
    """A JSON object that names a key more than once; the last value stands, as in every JSON reader.

    Attributes:
        repeated: The keys that were named before, in order.
    """

    repeated: tuple[str, ...] = ()


def read_json(text: str) -> Any:
    """The JSON value in a model's reply: the first object or array of objects, else the first array.

    Numbers that JSON does not know (NaN, Infinity) become null.

    Raises:
        ValueError: If there is no complete value, or the reply repeats a JSON schema. The message is one line
            and quotes nothing of the reply.
    """
    if not text.strip():
        raise ValueError("the reply is empty")
    values = _values(_without_thinking(text))
    if not values:
        raise ValueError("the reply holds no complete JSON value")
    chosen = next((value for value in values if _holds_objects(value)), values[0])
    if _is_schema(chosen):
        raise ValueError("the reply repeats the JSON schema instead of filling it in")
    return chosen


def records(value: object, shape: type[R]) -> list[R]:
    """The members of a JSON list that have a shape; others are passed over, and what is no list has none."""
    found = []
    for member in value if isinstance(value, list) else ():
        try:
            found.append(shape.model_validate(member))
        except ValidationError:
            continue
    return found


def _texts(value: object) -> list[str]:
    return [member for member in value if isinstance(member, str)] if isinstance(value, list) else []


def _belief(value: object) -> float:
    return min(max(value, 0.0), 1.0) if isinstance(value, int | float) else 1.0


Texts = Annotated[list[str], BeforeValidator(_texts)]
"""A list of texts in a reply: what is no text in it is passed over, and what is no list has none."""
Belief = Annotated[float, BeforeValidator(_belief)]
"""How sure a model is, brought between 0 and 1; what is no number is certain (facts on GAAMA, section 4.2)."""


def _without_thinking(text: str) -> str:
    """The text without its closed thinking blocks. Tag by tag: a looping model writes thousands that never close."""
    kept: list[str] = []
    since, opened = 0, None
    for tag in _THINKING.finditer(text):
        closes, name = bool(tag[1]), tag[2].lower()
        if opened is None and not closes:
            opened = tag
        elif opened is not None and closes and name == opened[2].lower():
            kept.append(text[since : opened.start()])
            since, opened = tag.end(), None
    return "".join([*kept, text[since:]])


def _values(text: str) -> list[Any]:
    """The outermost JSON objects and arrays in a text, up to the first that holds objects.

    A bracket in prose is passed over. Where an object was begun and is broken or cut off, reading ends: its
    parts are no reply.
    """
    found: list[Any] = []
    position = 0
    for _ in range(ATTEMPTS):
        opening = _OPENING.search(text, position)
        if opening is None:
            break
        try:
            value, position = _decode(text, opening.start())
        except (ValueError, RecursionError):  # also numbers and nesting without end
            if _BEGUN.match(text, opening.start()):
                break
            position = opening.end()
            continue
        found.append(value)
        if _holds_objects(value):
            break
    return found


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The value that starts there, without its trailing commas if need be, and where it ends."""
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=lambda _: None)
    try:
        return decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        if _CLOSING.match(text, error.pos) is None:
            raise  # not a matter of a comma
        # From the bracket on, so that a stray quote in the prose before it is not taken for a string.
        rest = _TRAILING_COMMA.sub(lambda m: m.group(1) or "", text[start:])
        return decoder.raw_decode(rest)[0], len(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    marked = RepeatedKeys(value)
    marked.repeated = tuple(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return marked


def _holds_objects(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _is_schema(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return "$defs" in value or "$schema" in value or isinstance(value.get("properties"), dict)
