"""What the noun-phrase extractor keeps of a conversation, beside a plain extractor of capitalised words.

Nothing can be recalled from a graph that an extraction has lost. Measured are the reference answers that stand
literally in an evidence turn and still stand in what was extracted of it, and how many nodes and edges that takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pandas as pd

from memory.conversation import Conversations, Question
from memory.prompts.extraction import EdgeReply, ExtractionReply, NodeReply, spoken_text
from results.answer_match import normalised, occurs, wanted
from results.paper_tables import PaperTable
from results.rendering import interval, number
from results.statistics import Proportion, wilson
from tasks.load import conversations_of
from tasks.models.offline.chunker import Word, clauses, words
from tasks.models.offline.extractor import extract
from tasks.models.offline.lexicon import FUNCTION_WORDS

Extractor = Callable[[str, str], ExtractionReply]
"""Makes nodes and edges of a speaker and what was said."""

_FREQUENT = 10


def noun_phrases(speaker: str, text: str) -> ExtractionReply:
    """The extractor that studies use."""
    return ExtractionReply.model_validate_json(extract(speaker, text))


def capitalised_words(speaker: str, text: str) -> ExtractionReply:
    """The baseline: each run of capitalised words is a node and carries its clause; neighbours are joined.

    A word that opens a clause is capitalised by rule and begins no run of its own.
    """
    nodes: dict[str, NodeReply] = {}
    edges: dict[str, EdgeReply] = {}
    keys: dict[str, str] = {}
    for clause in clauses(text):
        titles = list(dict.fromkeys(_names(words(clause))))
        for title in titles:
            if title not in keys:
                keys[title] = f"n{len(keys)}"
                nodes[keys[title]] = NodeReply(label="Concept", title=title, content=clause)
        for source, target in pairwise(titles):
            edge = EdgeReply(source=keys[source], target=keys[target], relationship="occurs with")
            edges[f"e{len(edges)}"] = edge
    return ExtractionReply(nodes=nodes, edges=edges)


def _names(tokens: Sequence[Word]) -> Iterator[str]:
    """Runs of capitalised words; none that is the opening word alone."""
    run: list[int] = []
    for place, token in enumerate(tokens):
        if token.text[0].isupper() and token.lower not in FUNCTION_WORDS:
            run.append(place)
            continue
        if run and run != [0]:
            yield " ".join(tokens[at].text for at in run)
        run = []
    if run and run != [0]:
        yield " ".join(tokens[at].text for at in run)


EXTRACTORS: Mapping[str, Extractor] = {
    "noun phrases": noun_phrases,
    "capitalised words": capitalised_words,
}


@dataclass(frozen=True, slots=True)
class Kept:
    """What an extractor keeps of a benchmark's turns.

    Attributes:
        answers: Of the questions whose reference stands literally in an evidence turn, those of which it still stands
            in what was extracted of such a turn.
        titles: Of the same questions, those of which it stands in a node's title.
        evidence: Of the evidence turns, those with a node.
        turns: All turns, blank ones too.
        nodes: Over all turns, before any merging.
        titled_apart: Distinct pairs of label and title: the nodes that merging equal titles alone would leave.
        edges: Over all turns.
        empty: Turns without a node.
        text: Characters extracted for each character said.
        labels: How many nodes have each label.
        predicates: How many edges have each predicate.
    """

    answers: Proportion
    titles: Proportion
    evidence: Proportion
    turns: int
    nodes: int
    titled_apart: int
    edges: int
    empty: int
    text: float
    labels: Counter[str]
    predicates: Counter[str]


def kept(conversations: Conversations, extractor: Extractor) -> Kept:
    """What an extractor keeps of the turns; equal turns of several histories count as often as they are there."""
    turns = {turn.id: turn for history in conversations.histories.values() for turn in history.turns}
    said = {name: (turn.speaker, spoken_text(turn)) for name, turn in turns.items()}
    by_content = {content: extractor(*content) for content in dict.fromkeys(said.values())}
    made = {name: by_content[content] for name, content in said.items()}
    evidence = {name for question in conversations.questions for name in question.evidence}
    nodes = [node for reply in made.values() for node in reply.nodes.values()]
    edges = [edge for reply in made.values() for edge in reply.edges.values()]
    answers, titles = _surviving(conversations.questions, said, made)
    return Kept(
        answers=answers,
        titles=titles,
        evidence=wilson(sum(bool(made[name].nodes) for name in evidence), len(evidence)),
        turns=len(turns),
        nodes=len(nodes),
        titled_apart=len({(node.label, node.title.lower()) for node in nodes}),
        edges=len(edges),
        empty=sum(not reply.nodes for reply in made.values()),
        text=_letters(_texts(reply) for reply in made.values())
        / _letters([text] for _, text in said.values()),
        labels=Counter(node.label for node in nodes),
        predicates=Counter(edge.relationship for edge in edges),
    )


def _letters(texts: Iterable[Sequence[str]]) -> int:
    return sum(len(text) for several in texts for text in several)


def _surviving(
    questions: Sequence[Question], said: Mapping[str, tuple[str, str]], made: Mapping[str, ExtractionReply]
) -> tuple[Proportion, Proportion]:
    """Of the questions whose reference is said in an evidence turn: how many have it extracted, and as a title."""
    extracted, titled = [], []
    for question in questions:
        forms = () if question.abstention else wanted(question.reference)
        telling = [name for name in question.evidence if occurs(forms, normalised(said[name][1]))]
        if telling:
            extracted.append(any(_says(_texts(made[name]), forms) for name in telling))
            titled.append(any(_says(_titles(made[name]), forms) for name in telling))
    return wilson(sum(extracted), len(extracted)), wilson(sum(titled), len(titled))


_APART = " ¦ "
"""Between texts: no answer holds it, and normalising leaves it, so that none is found across two texts."""


def _titles(reply: ExtractionReply) -> list[str]:
    return [node.title for node in reply.nodes.values()]


def _texts(reply: ExtractionReply) -> list[str]:
    """All that an extraction says, each text once."""
    nodes = [text for node in reply.nodes.values() for text in (node.title, node.content) if text]
    edges = [
        str(text) for edge in reply.edges.values() for text in (edge.relationship, *edge.attributes.values())
    ]
    return list(dict.fromkeys((*nodes, *edges)))


def _says(texts: Sequence[str], forms: tuple[str, ...]) -> bool:
    return occurs(forms, normalised(_APART.join(texts)))


def probe(benchmark: str, data: Path | None) -> list[PaperTable]:
    """What both extractors keep of a benchmark, and the labels and predicates that they give.

    Raises:
        BadInput: If the benchmark's file is not there, or not strictly right.
    """
    conversations = conversations_of(benchmark, data, None, None, 0)
    found = {name: kept(conversations, extractor) for name, extractor in EXTRACTORS.items()}
    return [
        _summary(found),
        _distribution("labels", {name: kept.labels for name, kept in found.items()}),
        _distribution("predicates", {name: kept.predicates for name, kept in found.items()}),
    ]


def _summary(found: Mapping[str, Kept]) -> PaperTable:
    data = pd.DataFrame(
        {
            "extractor": name,
            "answers_n": kept.answers.n,
            "answers": kept.answers.share,
            "answers_low": kept.answers.low,
            "answers_high": kept.answers.high,
            "answers_in_titles": kept.titles.share,
            "evidence_n": kept.evidence.n,
            "evidence": kept.evidence.share,
            "turns": kept.turns,
            "nodes_a_turn": kept.nodes / kept.turns,
            "titles_a_turn": kept.titled_apart / kept.turns,
            "edges_a_turn": kept.edges / kept.turns,
            "empty": kept.empty / kept.turns,
            "text": kept.text,
        }
        for name, kept in found.items()
    )
    return PaperTable(
        name="probe_extractor",
        caption="Reference answers that stand in an evidence turn and survive its extraction (95 % Wilson intervals), "
        "evidence turns with a node, and what that takes. The paper's graph of all turns has 2.5 nodes a turn after "
        "merging; distinct titles are what merging equal titles alone would leave.",
        data=data,
        header=(
            *("extractor", "answers n", "kept", "", "in titles", "evidence n", "kept", "nodes/turn"),
            *("distinct titles/turn", "edges/turn", "empty turns", "text kept"),
        ),
        rows=tuple(
            (
                row["extractor"],
                f"{row['answers_n']:,}",
                number(row["answers"]),
                interval(row["answers_low"], row["answers_high"]),
                number(row["answers_in_titles"]),
                f"{row['evidence_n']:,}",
                number(row["evidence"]),
                *(number(row[column], 2) for column in ("nodes_a_turn", "titles_a_turn", "edges_a_turn")),
                number(row["empty"]),
                number(row["text"], 2),
            )
            for row in data.to_dict("records")
        ),
    )


def _distribution(what: str, found: Mapping[str, Counter[str]]) -> PaperTable:
    """The most frequent labels or predicates of each extractor, with their shares."""
    data = pd.DataFrame(
        [
            {"extractor": name, what[:-1]: value, "count": count, "share": count / counts.total()}
            for name, counts in found.items()
            for value, count in counts.most_common(_FREQUENT)
        ],
        columns=["extractor", what[:-1], "count", "share"],
    )
    return PaperTable(
        name=f"probe_{what}",
        caption=f"The ten most frequent {what}.",
        data=data,
        header=tuple(data.columns),
        rows=tuple(
            (row["extractor"], row[what[:-1]], f"{row['count']:,}", number(row["share"]))
            for row in data.to_dict("records")
        ),
    )
