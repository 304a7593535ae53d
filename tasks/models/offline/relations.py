"""What relation words of English mean: a question says `spouse` where a fact says `is married to`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from tasks.models.offline.tokens import content, stems

# Words of one line stand for one concept, whose name is the first. General English, written with no data set in view.
_SYNONYMS = """
    married spouse wife husband partner marry marriage wed significant
    citizen citizenship nationality national hail
    author writer wrote write written pen
    born birth birthplace
    died die death dead deceased perish pass
    work worked employed employer employee employ employment job profession occupation
    field profession occupation
    founded founder founding foundation establish
    created creator creation origin originate invent inventor
    educated education educational university college school study attend graduate
    performed performer performance singer sing sang sung artist record
    produced producer manufacturer manufacture maker
    developed developer development
    broadcaster broadcast air network channel
    coach trainer manager
    ceo chief executive officer
    chairperson chair chairman chairwoman
    religion religious faith denomination belief worship
    language speak spoke spoken tongue fluent
    sport athletic game
    position role
    music musical genre
    continent continental
    country nation
    city town
    famous known notable renowned fame celebrated
    headquarters headquartered base
    child children son daughter offspring
    director direct
    located location situated lie place
    head leader lead chief
    company corporation manufacturer firm
    """
_IMPLIED: Mapping[str, tuple[str, ...]] = {
    "city": ("located",),
    "country": ("located",),
    "continent": ("located",),
    "headquarters": ("located",),
    "citizen": ("country",),
    "capital": ("city", "located"),
}
"""What a fact tells without saying so: what is in a city has a place."""

_WHERE = re.compile(r"\s*(?:\w+ )?where\b", re.IGNORECASE)


def _stem(word: str) -> str:
    return stems(word)[0]


def _concepts() -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in filter(None, map(str.split, _SYNONYMS.splitlines())):
        for word in line:
            found[_stem(word)].add(_stem(line[0]))
    return {word: frozenset(names) for word, names in found.items()}


_CONCEPTS = _concepts()
_FOLLOWS = {_stem(word): frozenset(map(_stem, others)) for word, others in _IMPLIED.items()}


def asked(question: str) -> frozenset[str]:
    """The concepts of a question; one that begins with `where` asks for a place."""
    found = frozenset(concept for word in meanings(question) for concept in word)
    return found | _FOLLOWS[_stem("city")] if _WHERE.match(question) else found


@lru_cache(maxsize=4096)
def meanings(text: str) -> tuple[frozenset[str], ...]:
    """For each distinct word of a text that carries meaning, the concepts that it may stand for."""
    words = dict.fromkeys([*content(text), *(stem for stem in stems(text) if stem in _CONCEPTS)])
    return tuple(_CONCEPTS.get(word, frozenset({word})) for word in words)


@lru_cache(maxsize=4096)
def told(relation: str) -> frozenset[str]:
    """The concepts of a relation, said or implied."""
    said = frozenset(concept for word in meanings(relation) for concept in word)
    return said | frozenset(concept for word in said for concept in _FOLLOWS.get(word, ()))
