"""The stores of the ranking study: a history, a part of one, or all distinct sessions together.

Each comes with the questions that are asked of it, whose evidence is named by the turns that the store holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.conversation import History, Question, Session
from results.retrieval_metrics import session_id

Place = tuple[str, int]
"""Where a session stands: its history and its position there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, with its evidence as a store names it.

    Attributes:
        question: The question.
        turns: Ids of its evidence turns.
        sessions: Its evidence sessions, as `results.retrieval_metrics.session_id` names them.
    """

    question: Question
    turns: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Store:
    """What one memory hears, and what it is asked then.

    Attributes:
        history: Its sessions.
        asked: Its questions.
        size: Turns that it was cut to; none where nothing was cut.
    """

    history: History
    asked: tuple[Asked, ...]
    size: int | None = None


def can_be_ranked(question: Question) -> bool:
    """Whether a question has evidence that can be found; one that expects abstention has none, whatever it names."""
    return not question.abstention and bool(question.evidence or question.evidence_sessions)


def evidence_positions(question: Question) -> tuple[int, ...]:
    """Positions of the sessions that hold evidence: as the benchmark names them, else those of its evidence turns."""
    return question.evidence_sessions or tuple(sorted({_position(turn) for turn in question.evidence}))


def _position(turn: str) -> int:
    return int(turn.rpartition("#")[2].partition(".")[0])


def _in_its_history(question: Question) -> Asked:
    sessions = (session_id(question.history, position) for position in evidence_positions(question))
    return Asked(question, frozenset(question.evidence), frozenset(sessions))


def whole(histories: Mapping[str, History], questions: Sequence[Question]) -> Iterator[Store]:
    """A store for each history that is asked about."""
    for name in dict.fromkeys(question.history for question in questions):
        yield Store(histories[name], tuple(_in_its_history(q) for q in questions if q.history == name))


def cut(
    histories: Mapping[str, History], questions: Sequence[Question], sizes: Sequence[int], seed: int
) -> Iterator[Store]:
    """For each question and size a part of its history, smaller ones inside of larger ones.

    It has the evidence sessions, whole, and others, whole and in an order by lot, until it holds so many turns. There
    is none of the size of the whole history or more.
    """
    for question in questions:
        history = histories[question.history]
        order = sorted(
            history.sessions, key=lambda s: (not _is_evidence(s, question), _lot(s, question, seed))
        )
        for size in sizes:
            if size < len(history.turns):
                kept = {session.position for session in _until(order, question, size)}
                sessions = tuple(session for session in history.sessions if session.position in kept)
                yield Store(History(history.id, sessions), (_in_its_history(question),), size)


def _until(order: Sequence[Session], question: Question, size: int) -> Iterator[Session]:
    """Sessions from the first on until they hold so many turns; evidence in any case."""
    turns = 0
    for session in order:
        if turns >= size and not _is_evidence(session, question):
            return
        turns += len(session.turns)
        yield session


def _is_evidence(session: Session, question: Question) -> bool:
    return session.position in {*evidence_positions(question), *map(_position, question.evidence)}


def _lot(session: Session, question: Question, seed: int) -> bytes:
    return hashlib.sha256(
        f"{seed}:{question.id}:{session.position}".encode("utf-8", "surrogatepass")
    ).digest()


def together(histories: Mapping[str, History], questions: Sequence[Question]) -> Store:
    """All distinct sessions of all histories as one store, in file order; equal are those of one id and one text.

    A session that is evidence stands there as in the history of the first question that it is evidence of, so that its
    date is right; where it is another question's evidence too, that one's is named by the same turns.
    """
    places: dict[bytes, Place] = {}
    for question in questions:
        for session in histories[question.history].sessions:
            if _is_evidence(session, question):
                places.setdefault(_content(session), (session.history, session.position))
    sessions: list[Session] = []
    seen: set[bytes] = set()
    for history in histories.values():
        for session in history.sessions:
            content, here = _content(session), (session.history, session.position)
            if content not in seen and places.get(content, here) == here:
                seen.add(content)
                sessions.append(session)
    asked = tuple(_in_one_store(question, histories[question.history], places) for question in questions)
    return Store(History("together", tuple(sessions)), asked)


def _content(session: Session) -> bytes:
    digest = hashlib.sha256(session.id.encode("utf-8", "surrogatepass"))
    for turn in session.turns:
        digest.update(f"\0{turn.speaker}\0{turn.text}\0{turn.caption}".encode("utf-8", "surrogatepass"))
    return digest.digest()


def _in_one_store(question: Question, history: History, places: Mapping[bytes, Place]) -> Asked:
    own = {s.position: places[_content(s)] for s in history.sessions if _is_evidence(s, question)}

    def moved(turn: str) -> str:
        return f"{session_id(*own[_position(turn)])}.{turn.rpartition('.')[2]}"

    sessions = (session_id(*own[position]) for position in evidence_positions(question))
    return Asked(question, frozenset(map(moved, question.evidence)), frozenset(sessions))
