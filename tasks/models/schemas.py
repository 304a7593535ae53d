"""Reply models as JSON schemas, in the forms that providers take."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


@cache  # it takes most of a millisecond, and every request has one
def plain_schema(reply: type[BaseModel]) -> Schema:
    """The JSON schema of a reply model, not to be changed by the caller.

    Docstrings are left out: they are for readers of our code, and editing one must not change a call's id.
    """
    return _schema(reply)


def _schema(reply: type[BaseModel]) -> Schema:
    schema = reply.model_json_schema()
    for record in [schema, *schema.get("$defs", {}).values()]:
        record.pop("description", None)
    return schema


@cache
def strict_schema(reply: type[BaseModel]) -> Schema | None:
    """The schema as OpenAI's strict mode wants it: closed objects whose fields are all required, no defaults.

    None if the model has an object with free keys, which strict mode cannot express.
    """
    schema = _schema(reply)
    return schema if _close(schema) else None


def _close(node: object) -> bool:
    if isinstance(node, list):
        closed = [_close(item) for item in node]
        return all(closed)
    if not isinstance(node, dict):
        return True
    fields = node.get("properties")
    if isinstance(fields, dict):
        node["additionalProperties"] = False
        node["required"] = list(fields)
        for value in fields.values():
            value.pop("default", None)
        inside = [_close(value) for value in fields.values()]
    else:
        inside = [node.get("type") != "object"]
    return all(inside + [_close(value) for key, value in node.items() if key != "properties"])
