"""Every setting of the hybrid memory, and the profiles that set them.

The defaults are frozen. They were chosen on the development side of `results.split` alone, before any figure of the
rest was looked at: on 91 questions of LongMemEval-S (static vectors), on the same questions asked of six histories
together, and on the 432 of LoCoMo's conversations 30, 41 and 42 (MiniLM). A part whose weight is 0 is off and is not
computed: those that are so by default bought nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from memory.systems.bm25 import LexicalSettings


class PalimpsestSettings(LexicalSettings):
    """Settings of the hybrid; the defaults are `published`. Each search is scaled to 0..1 over the memory."""

    forgets: ClassVar[Literal["by_policy", "by_use", "never"]] = "by_use"

    # What a session scores
    lexical_session: float = Field(1.0, ge=0)
    """BM25 of the session's whole text."""
    lexical_user: float = Field(0.75, ge=0)
    """BM25 of the best turn that a person said; an assistant's long answers share words with any question."""
    dense_session: float = Field(0.75, ge=0)
    """Cosine of the session's best turn."""
    dates: float = Field(0.5, ge=0)
    """What a session counts that lies in the time the question names (`ten days ago`), the more the fewer do; the words
    of that time are then no words of the question."""

    # What a turn scores inside its session
    lexical_turn: float = Field(1.0, ge=0)
    """Its BM25."""
    dense_turn: float = Field(1.0, ge=0)
    """Its cosine."""
    neighbours: float = Field(0.3, ge=0)
    """Share of the two scores above that a turn lends to those said just before and after it, among turns of people: an
    assistant's answer repeats the words that it answers."""
    speaker: float = Field(0.4, ge=0)
    """What a turn counts whose speaker the question means: one it names; where there are no names the user, or the
    assistant if the question asks what the assistant has said."""
    gap: float = Field(2.0, ge=0)
    """How far a turn falls behind the best of its session, for each unit by which its own score does. The best has the
    score of its session."""

    # Parts that are off: they bought nothing on the development side
    graph: float = Field(0.0, ge=0)
    """Personalized PageRank of a session's best turn, over turns and the entities that they mention."""
    graph_seeds: int = Field(10, ge=1)
    """Best turns that the walk starts at, beside the entities of the question."""
    graph_turns: int = Field(1000, ge=1)
    """Most turns of the subgraph that is walked; it is grown from the seeds, breadth first."""
    hub_limit: int = Field(50, ge=2)
    """Mentions from which on an entity says too little to be walked through."""
    damping: float = Field(0.5, gt=0, lt=1)
    """Chance of following an edge rather than starting again at a seed."""
    feedback: float = Field(0.0, ge=0)
    """Cosine of a session's best turn with the mean of the `feedback_turns` best turns of different sessions."""
    feedback_turns: int = Field(3, ge=1)
    """Turns that the question is taken to be about."""

    # What the context shows beside the best turns
    versions: bool = True
    """Of a question about how things are now: the turn with the newest value of what it names, and with the value
    before that one."""
    chronology: bool = True
    """Of a question about time: what a person said just before and after the best, and all in order of time. An
    assistant's long answers between them would take the place of evidence (.03 less of it in 1,000 words)."""
    assistant_turns: bool = True
    """Of a question about what the assistant has said: its best turn, verbatim."""
    pool: int = Field(20, ge=1)
    """Best turns among which these are looked for, so that what is added is on the subject."""

    # What is kept
    kept: float = Field(1.0, gt=0, le=1)
    """Share of all bytes ever heard that are kept once all was heard: entities go first, then vectors, then turns."""

    @property
    def dense(self) -> bool:
        """Whether turns need vectors."""
        return bool(self.dense_session or self.dense_turn or self.feedback)

    @property
    def entities(self) -> bool:
        """Whether turns need entities."""
        return bool(self.graph or self.versions)


PALIMPSEST_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {},
    "improved": {},
    "tuned": {"text": "dated", "max_words": 1000},
    "no_session_words": {"lexical_session": 0.0},
    "no_user_words": {"lexical_user": 0.0},
    "no_turn_words": {"lexical_turn": 0.0},
    "no_dense": {"dense_session": 0.0, "dense_turn": 0.0},
    "no_dates": {"dates": 0.0},
    "no_neighbours": {"neighbours": 0.0},
    "no_speaker": {"speaker": 0.0},
    "no_additions": {"versions": False, "chronology": False, "assistant_turns": False},
    "with_graph": {"graph": 0.25},
    "with_feedback": {"feedback": 0.1},
    "half": {"kept": 0.5},
}
"""`published` and `improved` are the frozen defaults; `tuned` fills 1,000 words. The others take a part out, or one in
that is off, so that a table of them says what each is worth; `half` forgets half of its bytes."""
