"""Reading chats in JSON: lists of messages in OpenAI's form, and ChatGPT's export of conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.errors import BadInput
from tasks.benchmarks.dates import iso_date
from tasks.benchmarks.own import OwnTurn
from tasks.benchmarks.reading import checked, shortened, values

_KEPT = ("user", "assistant")
_TEXT_PARTS = ("text", "input_text", "output_text")
_DATES = ("date", "timestamp", "created_at", "create_time")
"""Fields that may say when; a number is seconds since 1970."""
_OF_MESSAGE = {"role", "content", "name", "tool_calls", "function_call", *_DATES}
_OF_CHAT = {"messages", "id", *_DATES}
_HINT = "give messages with role and content, ChatGPT's conversations.json, or a table with speaker and text"
_REMEDY = "correct the export"


@dataclass
class _Chat:
    """One conversation of an export, with its turns' fields, and where each was found."""

    id: str = ""
    date: datetime | None = None
    turns: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def began(self) -> datetime | None:
        """When it took place."""
        return next((turn["date"] for _, turn in self.turns if turn["date"]), None) or self.date


def chat_lines(
    path: Path, left_out: Counter[str], *, separate: bool
) -> tuple[str, list[tuple[str, OwnTurn]]]:
    """The form of an export, and its turns as lines of benchmark `own`.

    Conversations come in order of time if all have dates, for exports begin with the newest.

    Args:
        path: The export.
        left_out: Counts what is not taken over.
        separate: Whether every conversation is a history of its own, instead of a session of one.

    Raises:
        BadInput: If a row is of no known form, or has a fault.
    """
    chats: list[_Chat] = []
    forms: dict[str, None] = {}
    for place, value in values(path, remedy=_REMEDY, hint=_HINT):
        where = f"{path}: {place}"
        row = value if isinstance(value, dict) else {}
        form = next((name for name in ("messages", "mapping", "role") if name in row), "")
        forms[form] = None
        if not form or len(forms) > 1:
            raise BadInput(f"{where}: {'not of the form of the rows before' if form else 'no chat'}; {_HINT}")
        if form == "messages":
            chats.append(_listed(row, where, left_out))
        elif form == "mapping":
            chats.append(_exported(row, where, left_out))
        else:
            chats = chats or [_Chat()]
            chats[0].turns += _message(row, where, left_out)
    chats = [chat for chat in chats if chat.turns]
    began = [chat.began for chat in chats]
    if all(began):
        chats.sort(key=lambda chat: chat.began or datetime.min.replace(tzinfo=UTC))
    form = "ChatGPT's export" if "mapping" in forms else "lists of messages"
    return form, list(_as_lines(chats, separate=separate))


def _as_lines(chats: list[_Chat], *, separate: bool) -> Iterator[tuple[str, OwnTurn]]:
    taken: set[str] = set()
    for number, chat in enumerate(chats, start=1):
        name = chat.id or str(number)
        while name in taken:
            name += f" ({number})"
        taken.add(name)
        for position, (where, turn) in enumerate(chat.turns):
            date = turn["date"] or (chat.date if position == 0 else None)
            fields = {**turn, "date": date.isoformat() if date else None, "session": name}
            yield where, checked(OwnTurn, {**fields, **({"history": name} if separate else {})}, where)


def _listed(row: dict[str, Any], where: str, left_out: Counter[str]) -> _Chat:
    """An object with a list of messages."""
    messages = row["messages"]
    if not isinstance(messages, list):
        raise BadInput(f"{where}: messages: not a list; {_REMEDY}")
    _count_fields(row, _OF_CHAT, left_out)
    chat = _Chat(_id(row.get("id")), _date(row, where))
    for index, message in enumerate(messages):
        chat.turns += _message(message, f"{where}: messages.{index}", left_out)
    return chat


def _message(value: Any, where: str, left_out: Counter[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A message in OpenAI's form as a turn, if it is one."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        raise BadInput(f"{where}: a message has a role and content; {_REMEDY}")
    _count_fields(value, _OF_MESSAGE, left_out)
    content = value.get("content")
    if content is not None and not isinstance(content, str | list):
        raise BadInput(f"{where}: content: neither text nor a list of parts; {_REMEDY}")
    if value["role"] in _KEPT:
        calls = value.get("tool_calls")
        left_out["tool calls"] += len(calls) if isinstance(calls, list) else bool(calls)
        left_out["tool calls"] += bool(value.get("function_call"))
    text = "\n".join(_texts(content, value["role"] in _KEPT, left_out))
    turn = {"role": value["role"], "text": text, "date": _date(value, where)}
    if isinstance(value.get("name"), str) and value["name"].strip():
        turn["speaker"] = value["name"]
    yield from _kept(turn, where, left_out)
    _tidy(left_out)


def _texts(content: Any, kept: bool, left_out: Counter[str]) -> Iterator[str]:
    """The texts of a message's content; of a message that is kept, the other parts are counted."""
    for part in [content] if isinstance(content, str) else content or []:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            yield part
        elif kind in _TEXT_PARTS and isinstance(part.get("text"), str):
            yield part["text"]
        elif kept:
            left_out[_part_name(kind or (part.get("content_type") if isinstance(part, dict) else None))] += 1


def _part_name(kind: object) -> str:
    name = kind if isinstance(kind, str) else "unknown"
    return "images" if "image" in name else f"parts of type {shortened(name)}"


def _kept(turn: dict[str, Any], where: str, left_out: Counter[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    if turn["role"] not in _KEPT:
        left_out[f"{_plain(turn['role'])} messages"] += 1
    elif not turn["text"].strip():
        left_out["messages without text"] += 1
    else:
        yield where, turn


def _plain(role: str) -> str:
    return role if role in ("system", "developer", "tool", "function") else shortened(role)


def _exported(row: dict[str, Any], where: str, left_out: Counter[str]) -> _Chat:
    """A conversation of ChatGPT's export: a tree of messages, of which the branch that was shown last is kept."""
    mapping = row["mapping"]
    if not isinstance(mapping, dict):
        raise BadInput(f"{where}: mapping: not an object; {_REMEDY}")
    chat = _Chat(_id(row.get("conversation_id") or row.get("id")), _date(row, where))
    branch = _branch(mapping, row.get("current_node"), where)
    for name in branch:
        chat.turns += _node(mapping[name], f"{where}: mapping.{shortened(name)}", left_out)
    left_out["messages of branches that were left"] += sum(
        isinstance(node, dict) and bool(node.get("message"))
        for name, node in mapping.items()
        if name not in branch
    )
    _tidy(left_out)
    return chat


def _branch(mapping: dict[str, Any], last: Any, where: str) -> dict[str, None]:
    """The names of the nodes from the root to the last one."""
    if last is None and mapping:
        raise BadInput(f"{where}: current_node: missing; {_REMEDY}")
    names: dict[str, None] = {}
    while last is not None:
        if not isinstance(last, str) or last in names or not isinstance(mapping.get(last), dict):
            raise BadInput(f"{where}: mapping: {shortened(last)} is no node, or its own ancestor; {_REMEDY}")
        names[last] = None
        last = mapping[last].get("parent")
    return dict.fromkeys(reversed(names))


def _node(node: dict[str, Any], where: str, left_out: Counter[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The message of a node as a turn, if it is one."""
    message = node.get("message")
    if not message:
        return
    author = message.get("author") if isinstance(message, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if (
        not isinstance(author, dict)
        or not isinstance(author.get("role"), str)
        or not isinstance(content, dict)
    ):
        raise BadInput(f"{where}: a message has an author with a role, and content; {_REMEDY}")
    role, kind, parts = author["role"], content.get("content_type"), content.get("parts")
    metadata = message.get("metadata")
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    if role not in _KEPT or hidden:
        left_out[f"{'hidden' if hidden else _plain(role)} messages"] += 1
    elif message.get("recipient") not in (None, "all"):
        left_out["tool calls"] += 1
    elif kind not in ("text", "multimodal_text") or not isinstance(parts, list):
        left_out[f"messages of type {shortened(kind)}"] += 1
    else:
        text = "\n".join(_texts(parts, True, left_out))
        yield from _kept({"role": role, "text": text, "date": _date(message, where)}, where, left_out)


def _id(value: object) -> str:
    """A conversation's own id, if it can be one here."""
    text = str(value) if isinstance(value, str | int) else ""
    return text if text.strip() and len(text) <= 100 else ""


def _date(row: dict[str, Any], where: str) -> datetime | None:
    """When something was said, if it says so."""
    name, value = next(((n, row[n]) for n in _DATES if row.get(n) is not None), ("", None))
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC).isoformat()
        return iso_date(str(value))
    except (ValueError, OverflowError, OSError) as error:
        raise BadInput(f"{where}: {name}: {shortened(value)} is not a date ({error}); {_REMEDY}") from error


def _count_fields(row: dict[str, Any], known: set[str], left_out: Counter[str]) -> None:
    for name in row.keys() - known:
        left_out[f"field {shortened(name)}"] += row[name] is not None


def _tidy(left_out: Counter[str]) -> None:
    """Forget what was counted as none."""
    for what in [what for what, number in left_out.items() if not number]:
        del left_out[what]
