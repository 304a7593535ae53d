"""MemoryArena's three tasks, as GAAMA's study asks them (facts on GAAMA, section 12).

An entry of the file is a history: a task in steps that build on each other. A step is a session of one turn, the
step's question with its reference answer: so each question is asked of a memory that has heard what was right in the
steps before it, and none of what follows. What all steps of an entry start from is the preamble of its questions.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.reading import checked, rows, sha256, shortened

Task = Literal["shopping", "travel", "search"]

PREFIX = "memoryarena-"
"""What the names of the benchmarks begin with; the task follows. A question's type is the benchmark's name, in shopping
with the domain after a colon."""

ITEM = "- "
"""Begins the lines of a reference that are judged one by one: slots of a plan, attributes of a product."""

_SLOTS = ("current_city", "transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")
_LONG_LINE = re.compile(r"^[ \t]*[-\u2010-\u2015\u2500]{5,}[ \t]*$", re.MULTILINE)
_CITATION = re.compile(r"[ \t]*\[\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*\]")
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class _BasePerson(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = ""
    query: str
    daily_plans: Any


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True)

    id: _Filled | int
    questions: list[_Filled] = Field(min_length=1)
    answers: list[Any]
    category: str | None = None
    base_person: _BasePerson | None = None


def task_of(fields: Mapping[str, Any]) -> Task | None:
    """The task that an entry belongs to; none if it is no entry of MemoryArena."""
    if not {"questions", "answers"} <= fields.keys():
        return None
    if "base_person" in fields:
        return "travel"
    answers = fields["answers"]
    first = _parsed(answers[0]) if isinstance(answers, list) and answers else None
    return (
        "shopping" if isinstance(first, dict) and {"target_asin", "attributes"} & first.keys() else "search"
    )


def load(path: Path, benchmark: str) -> Conversations:
    """Load the file of one task; `benchmark` says which.

    A question's id is its entry's id and its step, from 0; `after` is its step. A step without a reference answer is
    heard, not asked, and counted in the notes.

    Raises:
        BadInput: If the file is not in the format or of another task, an id recurs, questions and answers differ in
            number, or no question is left.
    """
    histories: dict[str, History] = {}
    questions: list[Question] = []
    notes: Counter[str] = Counter()
    for place, value in rows(path):
        where = f"{path}: {place}"
        entry = checked(_Entry, value, where)
        where = f"{where} (entry {shortened(entry.id)})"
        _check(entry, task_of(value), benchmark, where)
        if str(entry.id) in histories:
            raise BadInput(f"{where}: this id stands in the file twice; remove one of the rows")
        try:
            steps = list(_steps(entry, benchmark))
        except RecursionError:
            raise BadInput(f"{where}: an answer is nested too deeply; correct the row") from None
        histories[str(entry.id)] = _history(str(entry.id), steps)
        questions += [step for step in steps if step.reference]
        notes["steps without a reference answer, not asked"] += sum(not step.reference for step in steps)
    if not questions:
        raise BadInput(f"{path}: no step has a reference answer; give MemoryArena's own file")
    facts = tuple(f"{fact}: {count:,}" for fact, count in notes.items() if count)
    variant = f"MemoryArena, {benchmark.removeprefix(PREFIX)}, {len(histories):,} entries"
    return Conversations(benchmark, variant, sha256(path), histories, tuple(questions), facts)


def _check(entry: _Entry, found: Task | None, benchmark: str, where: str) -> None:
    if f"{PREFIX}{found}" != benchmark:
        raise BadInput(f"{where}: is an entry of {PREFIX}{found}, not of {benchmark}; give its own file")
    if found == "travel" and entry.base_person is None:
        raise BadInput(f"{where}: base_person: is null; every plan starts from it, correct the row")
    if len(entry.questions) != len(entry.answers):
        asked, answered = len(entry.questions), len(entry.answers)
        raise BadInput(f"{where}: {asked} questions, {answered} answers; they must be as many")


def _steps(entry: _Entry, benchmark: str) -> Iterator[Question]:
    """The entry's steps as questions, each with what the answerer is told beforehand."""
    task = benchmark.removeprefix(PREFIX)
    preamble = _start(entry.base_person) if entry.base_person else None
    domain = _line(entry.category) if task == "shopping" else ""
    for step, (text, answer) in enumerate(zip(entry.questions, entry.answers, strict=True)):
        asked = text.strip()
        if task == "shopping":
            rules, asked = _split(asked)
            preamble = rules or preamble  # rules that a step does not repeat still hold
        yield Question(
            id=f"{entry.id}:{step}",
            history=str(entry.id),
            type=f"{benchmark}: {domain}" if domain else benchmark,
            text=asked,
            reference=_reference(answer, task),
            after=step,
            preamble=preamble,
        )


def _history(name: str, steps: list[Question]) -> History:
    sessions = []
    for position, step in enumerate(steps):
        text = f"Question: {step.text}\nAnswer: {step.reference}" if step.reference else step.text
        turn = Turn(turn_id(name, position, 0), "user", "user", text)
        sessions.append(Session(f"step {position}", name, position, None, (turn,)))
    return History(name, tuple(sessions))


def _split(text: str) -> tuple[str, str]:
    """The global rules, which stand before the first line of dashes, and the step's own question after it."""
    rules, own = [*_LONG_LINE.split(text, maxsplit=1), ""][:2]
    return (rules.strip(), own.strip()) if own.strip() else ("", text)


def _start(person: _BasePerson) -> str:
    """The request and the itinerary of the person whom all others join."""
    name = _line(person.name) or "The first traveller"
    plan = _reference(person.daily_plans, "travel")
    return f"{name} asks:\n{person.query.strip()}\n\n{name}'s itinerary:\n{plan}"


def _reference(answer: Any, task: str) -> str:
    """The reference answer as text; empty where there is none."""
    value = _parsed(answer)
    if task == "travel" and isinstance(value, list | dict):
        return _plan(value)
    if task == "shopping" and isinstance(value, dict):
        return _product(value)
    return _CITATION.sub("", answer if isinstance(answer, str) else _line(answer)).strip()


def _plan(value: Any) -> str:
    """Days with their slots, one a line; empty slots, of which the file has `-` as well, are left out."""
    lines = []
    for number, day in enumerate(_days(value), start=1):
        shown = {slot: _line(day.get(slot)) for slot in _SLOTS}
        filled = [
            f"{ITEM}{slot.replace('_', ' ')}: {text}" for slot, text in shown.items() if text.strip("- ")
        ]
        if filled:
            lines += [f"Day {_line(day.get('days')) or number}:", *filled]
    return "\n".join(lines)


def _days(value: Any) -> Iterator[Mapping[str, Any]]:
    """The days of a plan, which may be a day, a list, or an object with the list."""
    if isinstance(value, dict) and "daily_plans" in value:
        value = value["daily_plans"]
    if isinstance(value, dict):
        yield value
    for part in value if isinstance(value, list) else ():
        yield from _days(part)


def _product(value: Mapping[str, Any]) -> str:
    found = value.get("attributes")
    attributes = found if isinstance(found, list) else [found]
    lines = [f"{ITEM}{text}" for attribute in attributes if (text := _line(attribute))]
    target = _line(value.get("target_asin"))
    return "\n".join([f"Product {target}", *lines] if target else lines)


def _parsed(answer: Any) -> Any:
    """An answer that is written as JSON inside of a text is what that says."""
    if not isinstance(answer, str) or answer.lstrip()[:1] not in ("{", "["):
        return answer
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return answer


def _line(value: Any) -> str:
    """Any JSON value as one line of text."""
    if isinstance(value, dict):
        text = "; ".join(f"{_line(key)}: {_line(part)}" for key, part in value.items())
    elif isinstance(value, list):
        text = ", ".join(_line(part) for part in value)
    else:
        # A text inside of a text may hold halves of characters, which no table can.
        text = "" if value is None else str(value).encode("utf-8", "replace").decode()
    return " ".join(text.split())
