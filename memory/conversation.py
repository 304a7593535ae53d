"""Conversations and the questions asked of them.

A history is all that one question may draw on (LongMemEval's haystack, a LoCoMo conversation). Turn ids are
`<history>#<session position>.<turn position>`, so that two histories may hold the same session, and one history the
same session twice, without their turns being confused. Ids are data: they never become file names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


def turn_id(history: str, session: int, turn: int) -> str:
    """The id of a turn, from its history's id and its zero-based positions in file order."""
    return f"{history}#{session}.{turn}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation.

    Attributes:
        id: See `turn_id`.
        role: `user` or `assistant` where the benchmark has roles; for a conversation between two people, `user` is
            the first speaker and `assistant` the second.
        speaker: The name that a reader of the conversation sees; equals the role where there are no names.
        text: The message, verbatim.
        caption: What an attached image shows, where the benchmark says so.
    """

    id: str
    role: str
    speaker: str
    text: str
    caption: str | None = None

    @property
    def spoken(self) -> str:
        """The text with its speaker's name before it and its image's caption, in brackets, after it.

        The caption stands alone: words such as "shares an image", equal in every caption, draw the vectors of
        turns with images together (LoCoMo, MiniLM: recall@5 .357 with them, .364 without).
        """
        shown = f" [{self.caption}]" if self.caption else ""
        return f"{self.speaker}: {self.text}{shown}"


@dataclass(frozen=True, slots=True)
class Observation:
    """A fact that a benchmark itself states about a session.

    Attributes:
        text: One sentence.
        turns: Ids of the turns that it stands on, in order; never empty.
    """

    text: str
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting of a conversation.

    Attributes:
        id: The benchmark's own session id; it may recur, even inside one history.
        history: The history's id.
        position: Zero-based place in the file's order.
        date: When it took place, in UTC; none where the benchmark has no dates.
        turns: Its turns, in order.
        observations: What the benchmark states about it, where it does: facts that were written with the whole
            conversation in view, which only what says so may read.
    """

    id: str
    history: str
    position: int
    date: datetime | None
    turns: tuple[Turn, ...]
    observations: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """All sessions that a question may draw on, in the file's order (which need not be the order of time)."""

    id: str
    sessions: tuple[Session, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, in file order."""
        return tuple(turn for session in self.sessions for turn in session.turns)

    def by_date(self) -> tuple[Session, ...]:
        """The sessions in order of time; equal dates stay in file order.

        Raises:
            ValueError: If a session has no date.
        """
        undated = [session.id for session in self.sessions if session.date is None]
        if undated:
            raise ValueError(f"history {self.id}: session {undated[0]} has no date to sort by")
        return tuple(sorted(self.sessions, key=lambda s: s.date.timestamp() if s.date else 0.0))


@dataclass(frozen=True, slots=True)
class Query:
    """What a memory system is shown of a question: neither reference answer, nor evidence, nor type.

    Attributes:
        id: Unique within its benchmark.
        history: The id of the history it draws on.
        text: The question.
        date: When it is asked, in UTC.
        label: The type after all, for a system whose settings say that it reads labels (see
            `memory.protocol.Labelled`). That is a leak, which one published method has: a user's question has no type.
    """

    id: str
    history: str
    text: str
    date: datetime | None = None
    label: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class OracleQuery(Query):
    """A query with its evidence, for the `oracle` system alone."""

    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A benchmark question.

    Attributes:
        id: Unique within its benchmark.
        history: The id of the history it draws on.
        type: The benchmark's own name for the kind of question.
        text: The question.
        reference: The reference answer as text; empty where the benchmark has none.
        reference_kind: The JSON type the reference had in the file: `str`, `int`, `float`, `none`.
        date: When it is asked, in UTC.
        evidence: Ids of the turns that hold the answer, in file order.
        evidence_sessions: Positions of the sessions that hold the answer.
        unresolved_evidence: The benchmark's evidence references that match no turn, as written.
        abstention: Whether the right answer is that the history does not say.
        after: How many sessions of its history, in the file's order, the memory has heard when it is asked; none is
            all of them.
        preamble: What the answerer is told before anything that a memory brings up; the memory is not asked for it.
        options: Of a multiple-choice question, what can be chosen, each with its letter: `(a) Tea.`. The answerer is
            shown them, the memory is not; the reference is the right one.
        accepted: The reference answers, where a benchmark takes any of several; the reference is the first.
        contains: What a right answer contains, each of it, where a benchmark says so; the reference is all together.
    """

    id: str
    history: str
    type: str
    text: str
    reference: str
    reference_kind: str = "str"
    date: datetime | None = None
    evidence: tuple[str, ...] = ()
    evidence_sessions: tuple[int, ...] = ()
    unresolved_evidence: tuple[str, ...] = ()
    abstention: bool = False
    after: int | None = None
    preamble: str | None = None
    options: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()

    @property
    def can_be_judged(self) -> bool:
        """Whether it is known what a right answer is."""
        return self.abstention or self.reference_kind != "none"

    def query(self) -> Query:
        """The question as a memory system may see it."""
        return Query(self.id, self.history, self.text, self.date)

    def oracle_query(self) -> OracleQuery:
        """The question as the `oracle` system may see it."""
        return OracleQuery(self.id, self.history, self.text, self.date, self.evidence)


@dataclass(frozen=True, slots=True)
class Conversations:
    """A loaded benchmark.

    Attributes:
        benchmark: Its name, such as `longmemeval-oracle`.
        variant: Which release and part of it was read, in words that identify it.
        sha256: Hash of the file's uncompressed bytes.
        histories: By id, in file order.
        questions: In file order.
        notes: What a reader should know that the loader met, such as `blank turns: 12`.
    """

    benchmark: str
    variant: str
    sha256: str
    histories: dict[str, History]
    questions: tuple[Question, ...]
    notes: tuple[str, ...] = field(default=())
