"""Subject - relation - object triples of a turn, out of its extraction.

HippoRAG 2 has a language model read every passage for open triples. The project's shared extraction is just that: its
edges name two titled nodes and a relation, and it depends on the turn alone. So this system buys no extraction of its
own, and differs from other systems over the same extraction in its graph and retrieval alone. Offline, the extractor
`every-noun-phrase` is nearer to open triples than `noun-phrases`, which takes a few nodes of a turn.
"""

from __future__ import annotations

import re

from memory.extraction import Extraction

Triple = tuple[str, str, str]
"""Subject, relation and object, normalised."""

MOST_TRIPLES = 100
"""Triples of one turn that are read; a reply with more is a model that loops."""
MOST_CHARACTERS = 200
"""What is longer is no phrase and no relation; its triple is passed over."""

_NO_WORD = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """A phrase as the graph knows it: in lower case, with single blanks between its words.

    As in the released code, but that letters beyond ASCII stay.
    """
    return _NO_WORD.sub(" ", text.casefold()).strip()


def triples_of(extraction: Extraction) -> list[Triple]:
    """The distinct triples of a turn, in the extraction's order.

    Passed over is an edge whose end is no node of the extraction, or of which a part is empty or too long.
    """
    titles = {node.key: node.title for node in extraction.nodes}
    found: dict[Triple, None] = {}
    for edge in extraction.edges:
        parts = (titles.get(edge.source, ""), edge.relationship, titles.get(edge.target, ""))
        if all(len(part) <= MOST_CHARACTERS for part in parts):
            subject, relation, object_ = map(normalised, parts)
            if subject and relation and object_:
                found[subject, relation, object_] = None
        if len(found) == MOST_TRIPLES:
            break
    return list(found)
