"""The loss waterfall: at which step what answers a question was lost.

What a question needs passes five steps: it stands in the turns, then in what was extracted from them, in the memory,
in the recalled context, and at last in the answer.

What is tracked. `answer`: the reference answer (or an alternative that it accepts, see `results.answer_match`),
where its words stand in the text of an evidence turn. `evidence`: the evidence turns themselves, where none says the
answer, as when it must be counted, computed or inferred, or where the answer is too short to be looked for in a whole
memory: fewer than three letters and digits, or a bare yes or no, would be found by chance. *All* evidence turns are
wanted, for such an answer needs all; only where some say the short answer, these alone (of two turns that say how old
the cat was and is, the second; on LongMemEval oracle that narrows 27 questions, 23 of them rightly, and 4 counts
because a turn says the number of something else). How many evidence turns there are at each step, wanted or not, is
kept beside it.

| step | `answer` is there | an evidence turn is there |
|---|---|---|
| in_turn | by definition | by definition |
| in_extraction | in a node or edge extracted from an evidence turn | it gave an edge, or a node that tells something |
| in_memory | in a text that stands on an evidence turn | a text stands on it |
| in_context | in the context, wherever it comes from | a text that stands on it is there, on lines of its own |
| in_answer | the verdict | the verdict |

A node of the turn's own speaker without attributes tells nothing: it comes with every turn. The texts that stand on a
turn are those that the memory itself names (`memory.protocol.Traceable`), as it would show them: a former value of an
attribute counts as held where a context would show it. A system that does not name them has no step in_memory; an
evidence turn is then in the context if it is among the first `items` of the ranked provenance (a ranking may go on
beyond what the context shows). A system that takes no extractions has no step in_extraction.

The cause is named after the step that follows the *last* one that has what is tracked, so that what was lost at one
step and found by another way is not called lost: an answer that is right counts as answered, whatever came before.
`regained` says that such a step came before. `not recalled` of a system without the step in_memory may be a loss in
its memory. A memory that takes turns apart may show a part of an evidence turn that is not the part wanted: of tracked
evidence, its `misread` is what the answerer lost at most. `texts_held` and `texts_shown` say how much was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from results.answer_match import normalised, occurs, wanted

STEPS = ("in_turn", "in_extraction", "in_memory", "in_context", "in_answer")
ANSWERED = "answered"
NOT_STORED = "not stored"
_LOST_AT = {
    "in_extraction": "not extracted",
    "in_memory": "merged away",
    "in_context": "not recalled",
    "in_answer": "misread",
}
CAUSES = (ANSWERED, "not extracted", "merged away", NOT_STORED, "not recalled", "misread")
"""What became of a question that has a verdict. `not stored` is the loss in the memory of a system that takes no
extractions."""
ABSTENTION, NO_EVIDENCE, UNRESOLVED = "abstention", "no evidence", "evidence unresolved"
FAILED, UNJUDGED = "failed", "unjudged"
OUTSIDE = (ABSTENTION, NO_EVIDENCE, UNRESOLVED, FAILED, UNJUDGED)
"""Why a question is outside the waterfall: the right answer is that nothing was said; the benchmark names no
evidence, or some that matches no turn; recall or answer failed; there is no verdict."""
SHORTEST = 3
"""Letters and digits of an answer that is looked for."""

Steps = Mapping[str, bool | None]


def tracked_forms(reference: str, turns: Sequence[str]) -> tuple[str, ...]:
    """The forms of a reference answer to look for; none if the evidence turns must be tracked in its stead.

    Args:
        reference: The reference answer.
        turns: Texts of the evidence turns.
    """
    forms = tuple(form for form in wanted(reference) if _is_telling(form))
    return forms if said(forms, turns) else ()


def wanted_turns(reference: str, turns: Sequence[str]) -> list[bool]:
    """Which evidence turns are wanted where they are tracked: those that say the answer; if none does, all."""
    forms = wanted(reference)
    saying = [said(forms, [turn]) for turn in turns]
    return saying if any(saying) else [True] * len(turns)


def _is_telling(form: str) -> bool:
    return len(form.replace(" ", "")) >= SHORTEST and form.strip() not in ("yes", "no")


def said(forms: tuple[str, ...], texts: Iterable[str]) -> bool:
    """Whether one of the texts has one of the forms."""
    return any(occurs(forms, normalised(text)) for text in texts)


def shown(texts: Sequence[str], context: str) -> bool:
    """Whether a context has one of the texts on lines of its own."""
    lines = f"\n{context}\n"
    return any(f"\n{text}\n" in lines for text in texts)


def cause_of(steps: Steps) -> str:
    """What became of a question by its steps; a step that is null is passed over, `in_answer` must be known."""
    known = [step for step in STEPS if steps[step] is not None]
    last = max(place for place, step in enumerate(known) if steps[step])
    if known[last] == "in_answer":
        return ANSWERED
    lost_at = known[last + 1]
    if lost_at == "in_memory" and steps["in_extraction"] is None:
        return NOT_STORED
    return _LOST_AT[lost_at]


def regained(steps: Steps) -> bool:
    """Whether a step lacks what a later one has."""
    known = [steps[step] for step in STEPS if steps[step] is not None]
    return any(later and not earlier for place, later in enumerate(known) for earlier in known[:place])
