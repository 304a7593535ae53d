"""What conversations tell, sentence by sentence: the part of the offline curator that reads no list of facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tasks.models.offline.chunker import TIME, sentences, words
from tasks.models.offline.curation import Found
from tasks.models.offline.fact_lines import SourceLine
from tasks.models.offline.passages import Passage, rank
from tasks.models.offline.tokens import content, is_number

_SENTENCES = 30
"""Most sentences that a question gets, beside those that they replaced."""
_DIRECT = 0.6
"""Share of the best sentence's score from which another matches the question itself."""
_LEAST_FRAME = 2
"""How many words a frame must have for two sentences with it to give values for the same."""


def slots(lines: Sequence[SourceLine], question: str, evidence: str) -> list[list[Found]]:
    """The sentences for a question, or for any, by slot, the best slot first.

    Sentences are ranked as the extractive answerer ranks passages. `chain` keeps the best, `direct` of these what is
    near the very best; without a question all are kept, the latest first. Questions tell nothing.
    """
    said = [
        (place, text) for place, line in enumerate(lines) for text in sentences(line.said) if _tells(text)
    ]
    in_slot: defaultdict[str, list[Found]] = defaultdict(list)
    names = [_slot(lines[place].speaker, text) for place, text in said]
    for (place, text), name in zip(said, names, strict=True):
        speaker = lines[place].speaker
        statement = f"{speaker}: {text}" if speaker else text
        in_slot[name].append(Found(place, statement, name, lines[place].date))
    order = reversed(range(len(said))) if evidence == "general" else _nearest(said, question, evidence)
    return [in_slot[name] for name in dict.fromkeys(names[which] for which in order)]


def _tells(sentence: str) -> bool:
    return not sentence.endswith("?") and bool(content(sentence))


def _nearest(said: Sequence[tuple[int, str]], question: str, evidence: str) -> Iterator[int]:
    """The sentences with words of the question, best first."""
    wanted = set(content(question))
    ranked = rank([Passage(text, order, None) for order, (_, text) in enumerate(said)], wanted)
    least = _DIRECT * ranked[0][0] if ranked and evidence == "direct" else 0.0
    for score, sentence in ranked[:_SENTENCES]:
        if score >= least and wanted.intersection(sentence.stems):
            yield sentence.place


def _slot(speaker: str, sentence: str) -> str:
    """`speaker|frame|`, where the frame is the sentence without its values: figures, names and times.

    A sentence that gives no value, or says little else, is in a slot of its own.
    """
    all_stems = content(sentence)
    frame = [stem for stem in content(_without_names(TIME.sub(" ", sentence))) if not is_number(stem)]
    own = len(frame) == len(all_stems) or len(frame) < _LEAST_FRAME
    return f"{speaker}|{' '.join(all_stems if own else frame)}|"


def _without_names(sentence: str) -> str:
    """The words but those with a capital; the first word of a sentence has one anyway."""
    return " ".join(
        word.text for place, word in enumerate(words(sentence)) if not place or word.text[0].islower()
    )
