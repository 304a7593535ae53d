"""Short statements cut into subject, relation and object, by frames that a list of them shares.

A frame is a statement without its two names: `the capital of _ is _`, `_ works for _`. English says where a frame may
begin and end: its middle begins with a verb or a possessive and ends with a preposition, an auxiliary or that verb;
what stands before its subject begins with `The` and ends with a preposition or a relative pronoun. Of several frames it
is the longest, and of equally long ones that which most statements of the list share. The list also tells what belongs
to a frame though English does not: the words in which all subjects of a frame end (`the head of the _ government is
_`), and, where no verb is known, the words in small letters between two names, if they stand between others too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.models.offline.lexicon import VERBS
from tasks.models.offline.tokens import stems

_WORDS = 60
"""A statement with more words is none of a list of facts."""
_STARTS = 4
"""How many places are tried as the beginning of a frame's middle; in most statements there is one."""

_FINITE = frozenset({"is", "are", "was", "were", "has", "have", "had", "does", "did", "will"})
_AUXILIARIES = _FINITE | {"am", "be", "been"}
_PREPOSITIONS = frozenset(
    {
        "of",
        "in",
        "on",
        "at",
        "by",
        "to",
        "for",
        "from",
        "with",
        "as",
        "into",
        "under",
        "over",
        "near",
        "beside",
    }
    | {"after", "before", "within", "about", "against"}
)
_ARTICLES = frozenset({"a", "an", "the"})
_RELATIVES = frozenset({"that", "which", "where", "who", "whom", "whose"})
_POSSESSIVE = re.compile(r"(?<=\w)(['’]s)(?=\s)")
_MARKS = frozenset({"'s", "’s"})
_OWNED = 3
"""Most words of what a possessive owns."""
_VERB_FORM = re.compile(r"[a-z]{2,}(?:s|ed)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by its parts.

    Attributes:
        subject: What it is about, as written.
        relation: The frame, in lower case, with `_` for subject and object; all statements of a list whose frames
            differ in tense and articles alone have one relation.
        object: The value that it gives, as written.
    """

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class _Cut:
    """A way to cut a statement: its words up to `subject`, to `middle`, to `object`, and the rest."""

    words: tuple[str, ...]
    subject: int
    middle: int
    object: int

    @property
    def length(self) -> int:
        """Words of the frame."""
        return self.subject + self.object - self.middle

    @property
    def frame(self) -> tuple[str, str]:
        """What stands before the subject, and between subject and object."""
        before, between = self.words[: self.subject], self.words[self.middle : self.object]
        return " ".join(before).lower(), " ".join(between).lower()

    @property
    def names(self) -> tuple[str, str]:
        """Subject and object."""
        return _joined(self.words[self.subject : self.middle]), _joined(self.words[self.object :])


def parse(texts: Sequence[str]) -> list[Statement | None]:
    """Each statement of a list by its parts; none where no frame fits."""
    split = [tuple(_POSSESSIVE.sub(r" \1", text.strip().removesuffix(".")).split()) for text in texts]
    ways = [list(_cuts(words)) if len(words) <= _WORDS else [] for words in split]
    support = _support(cut for cuts in ways for cut in cuts)
    by_grammar = [max(cuts, key=lambda cut: (cut.length, support[cut.frame]), default=None) for cuts in ways]
    chosen = _with_shared_ends(_with_shared_middles(by_grammar, split))
    labels = _labels(cut.frame for cut in chosen if cut)
    return [Statement(cut.names[0], labels[_key(cut.frame)], cut.names[1]) if cut else None for cut in chosen]


def _support(cuts: Iterable[_Cut]) -> dict[tuple[str, str], int]:
    """With how many different subjects and values each frame occurs: the lesser number."""
    subjects: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for cut in cuts:
        subject, value = cut.names
        subjects[cut.frame].add(subject)
        values[cut.frame].add(value)
    return {frame: min(len(names), len(values[frame])) for frame, names in subjects.items()}


def _cuts(words: tuple[str, ...]) -> Iterator[_Cut]:
    """The ways in which English allows to cut a statement."""
    heads = [0, *_heads(words)]
    office = _office(words)
    for middle in _middles(words):
        for end in _ends(words, middle):
            cuts = (_Cut(words, head, middle, end) for head in heads if head < middle)
            yield from (cut for cut in cuts if _is_one_clause(cut))
        if 0 < office < middle and not words[middle + 1].islower():
            yield _Cut(words, office, middle, middle + 1)
    yield from _possessions(words)


def _is_one_clause(cut: _Cut) -> bool:
    """Whether a middle has the verb of one clause, or of two where a relative one stands before the subject."""
    relative = any(word in _RELATIVES for word in cut.words[: cut.subject])
    return sum(word in _FINITE for word in cut.words[cut.middle : cut.object]) <= 1 + relative


def _heads(words: tuple[str, ...]) -> Iterator[int]:
    """Where a subject may begin after `The capital of` and the like; not within names."""
    if not words or words[0] != "The":
        return
    for place, word in enumerate(words[1:], 1):
        if not word.islower():
            return
        if word in _PREPOSITIONS or word in _RELATIVES:
            yield place + 1 + (words[place + 1 : place + 2] == ("the",))
        elif words[place - 1] in _RELATIVES and _may_be_verb(word):
            yield place + 1


def _office(words: tuple[str, ...]) -> int:
    """Where the subject begins after an office in capitals, such as `The First Secretary of`; 0 if there is none."""
    if words[:1] != ("The",) or words[1:2] == () or words[1].islower():
        return 0
    return next((place + 1 for place, word in enumerate(words) if word in _PREPOSITIONS), 0)


def _middles(words: tuple[str, ...]) -> list[int]:
    """Where the middle of a frame may begin: at auxiliaries, or else at what looks like a verb."""
    places = range(1, len(words) - 1)
    auxiliaries = [place for place in places if words[place] in _AUXILIARIES]
    return auxiliaries[:_STARTS] or [place for place in places if _may_be_verb(words[place])][:_STARTS]


def _may_be_verb(word: str) -> bool:
    return word in VERBS or bool(_VERB_FORM.fullmatch(word))


def _ends(words: tuple[str, ...], middle: int) -> Iterator[int]:
    """Where the object may begin: after the words that can end a middle, as long as no name has begun."""
    for place in range(middle, len(words) - 1):
        word = words[place]
        if not (word.islower() and word[0].isalpha()):
            return
        if place == middle or word in _PREPOSITIONS or word in _AUXILIARIES or word in _ARTICLES:
            yield place + 1


def _possessions(words: tuple[str, ...]) -> Iterator[_Cut]:
    """`Ilse's elder sister is Rita`; in `Ilse's song was sung by Rita` the song is the subject."""
    for mark in range(1, len(words) - 3):
        if words[mark] not in _MARKS:
            continue
        end = next((place for place in range(mark + 1, len(words) - 1) if words[place] in _AUXILIARIES), 0)
        owned = words[mark + 1 : end]
        small = all(word.islower() for word in owned)
        if owned and small and len(owned) <= _OWNED and not _may_be_verb(words[end + 1]):
            yield _Cut(words, 0, mark, end + 1)


def _with_shared_middles(
    chosen: Sequence[_Cut | None], split: Sequence[tuple[str, ...]]
) -> list[_Cut | None]:
    """The cuts, and for statements without one what stands between two names, if it does so between others too."""
    between = [None if cut else _between_names(words) for cut, words in zip(chosen, split, strict=True)]
    support = _support(filter(None, between))
    return [
        cut or (middle if middle and support[middle.frame] > 1 else None)
        for cut, middle in zip(chosen, between, strict=True)
    ]


def _between_names(words: tuple[str, ...]) -> _Cut | None:
    """A statement of a name, some words in small letters, and a name, cut there."""
    small = [place for place, word in enumerate(words) if word.islower()]
    if not small or len(words) > _WORDS:
        return None
    middle, end = small[0], small[-1] + 1
    whole = middle > 0 and end < len(words) and end - middle == len(small)
    return _Cut(words, 0, middle, end) if whole else None


def _with_shared_ends(chosen: Sequence[_Cut | None]) -> list[_Cut | None]:
    """The cuts, with the words in which all subjects of a frame end moved into it."""
    ends: dict[tuple[str, str], list[str]] = {}
    names: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for cut in filter(None, chosen):
        end = list(cut.words[cut.subject + 1 : cut.middle])
        names[cut.frame].add(cut.names[0])
        ends[cut.frame] = _common_end(ends.get(cut.frame, end), end)
    moved = {frame: len(end) for frame, end in ends.items() if frame[0] and len(names[frame]) > 1}
    return [
        cut and _Cut(cut.words, cut.subject, cut.middle - moved.get(cut.frame, 0), cut.object)
        for cut in chosen
    ]


def _common_end(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The longest end that two lists of words share, without names."""
    shared: list[str] = []
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right or not left.islower():
            break
        shared.append(left)
    return shared[::-1]


def _key(frame: tuple[str, str]) -> tuple[str, ...]:
    """What makes two frames one relation: the stems of their words but auxiliaries and articles, in order."""
    parts = [[word for word in part.split() if word not in _AUXILIARIES | _ARTICLES] for part in frame]
    return (*stems(" ".join(parts[0])), "_", *stems(" ".join(parts[1])))


def _labels(frames: Iterator[tuple[str, str]]) -> dict[tuple[str, ...], str]:
    """The name of each relation: its most frequent frame, of equals the first."""
    found: dict[tuple[str, ...], str] = {}
    for (before, between), _ in Counter(frames).most_common():
        found.setdefault(_key((before, between)), f"{before} _ {between} _".strip())
    return found


def _joined(words: Sequence[str]) -> str:
    return re.sub(r" (['’]s)(?=\s|$)", r"\1", " ".join(words))
