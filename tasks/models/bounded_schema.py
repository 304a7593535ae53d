"""Reply models as JSON schemas in which nothing can go on for ever."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

from pydantic import BaseModel

from tasks.models.schemas import Schema, plain_schema

MOST_ITEMS = 3
"""Of an array, and of an object with free keys."""
MOST_CHARACTERS = 80
"""Of a string."""


@cache
def bounded_schema(reply: type[BaseModel]) -> Schema:
    """The JSON schema of a reply model with every list, string and record bounded, not to be changed by the caller.

    A small model that is held to a grammar with a repetition repeats until its reply is cut off. Records by free keys
    get keys such as the prompts use, `n1` to `n3` in `nodes`. Fields of free keys and plain values, such as a node's
    attributes, are left out, and all others are required.
    """
    schema = deepcopy(plain_schema(reply))
    for record in (schema, *schema.get("$defs", {}).values()):
        record["properties"] = {
            name: _bounded(value, name)
            for name, value in record["properties"].items()
            if _keyed(value) or value.get("type") != "object"
        }
        record["required"] = list(record["properties"])
        record["additionalProperties"] = False
    return schema


def _bounded(value: Schema, field: str) -> Schema:
    """The schema of a field's value, bounded, and without a default."""
    bounded = {key: part for key, part in value.items() if key != "default"}
    if value.get("type") == "string" and "enum" not in value:
        bounded["maxLength"] = MOST_CHARACTERS
    if value.get("type") == "array":
        bounded |= {"maxItems": MOST_ITEMS, "items": _bounded(value["items"], field)}
    if _keyed(value):
        keys = (f"{field[0]}{number}" for number in range(1, MOST_ITEMS + 1))
        bounded |= {
            "properties": dict.fromkeys(keys, value["additionalProperties"]),
            "additionalProperties": False,
        }
    if "anyOf" in value:
        bounded["anyOf"] = [_bounded(part, field) for part in value["anyOf"]]
    return bounded


def _keyed(value: Schema) -> bool:
    """Whether a value holds records by free keys."""
    return "$ref" in (value.get("additionalProperties") or {})
