"""An offline grafter: GRAFT's four tasks by the words that items share, without a language model.

It can only copy: what it adds is a sentence of a shown episode with its speaker and its dates written out. Its gate
passes a fact whose words, names and figures stand in the episodes that it names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from memory.dates import resolve
from tasks.models.offline.answerer import DECLINED
from tasks.models.offline.chunker import TIME, clauses
from tasks.models.offline.tokens import content, is_number

BORNE_OUT = 0.6
"""Share of a fact's words that must stand in its episodes."""
SAID = 0.6
"""Share of a sentence's words from which a known fact says it already."""
LEAST_WORDS = 4
"""Words that carry meaning, its speaker's name among them, of a sentence that is worth adding."""
_SAME = 0.9
"""Share of a fact's words from which another fact says the same."""

_EPISODE = re.compile(
    r"(?:\[[^\]]*?on (?P<date>\d{1,2} [A-Z][a-z]+, \d{4})\] )?(?P<speaker>[^:\[\]]{1,60}): (?P<said>.*)",
    re.DOTALL,
)
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_NEGATED = re.compile(r"\b(?:not|never|no longer|none|nobody|nothing)\b|n[’']t\b", re.IGNORECASE)
_CUT = 200
"""Characters from which on an episode that a plan sees may have been cut."""


@dataclass(frozen=True, slots=True)
class _Episode:
    """An episode as it is shown: its date and its speaker stand before what was said."""

    speaker: str
    said: str
    day: date | None


def diagnose(inputs: Mapping[str, str]) -> str:
    """As completeness, the share of the question's words that the best shown fact has; 0 if the answer declines."""
    asked = _key(inputs["question"])
    shares = [_share(asked, content(text)) for _, kind, text in _items(inputs["memory"]) if kind == "fact"]
    share = 0.0 if inputs["answer"] == DECLINED else max(shares, default=0.0)
    return json.dumps({"completeness": share, "reason": "share of the question's words in the best fact"})


def probe(inputs: Mapping[str, str]) -> str:
    """The question's words, and its names with those of its words that its best fact lacks."""
    question = inputs["question"]
    asked = _key(question)
    facts = [content(text) for _, kind, text in _items(inputs["memory"]) if kind == "fact"]
    best = max(facts, key=lambda fact: _share(asked, fact), default=[])
    words = [word for word in re.findall(r"[\w'’]+", question) if content(word)]
    lacking = [word for word in words if word in _names(question) or set(content(word)) - set(best)]
    asking = [" ".join(dict.fromkeys(chosen)) for chosen in (words, lacking)]
    probes = [
        {"question": text, "reasoning": "no fact has these words"} for text in dict.fromkeys(asking) if text
    ]
    return json.dumps({"analysis_questions": probes}, ensure_ascii=False)


def plan(inputs: Mapping[str, str]) -> str:
    """As facts, the two best sentences of shown episodes that no fact says; and a concept for the first fact without.

    The best are those whose episodes are nearest to their probe, with most of the question's words in them.
    """
    asked = _key(inputs["question"])
    known = [set(content(fact)) for fact in json.loads(inputs["facts"])]
    scores: dict[tuple[str, str], float] = {}
    for _, items in json.loads(inputs["found"]):
        for id, kind, score, text in items:
            episode = _read(text) if kind == "episode" else None
            for told in _told(episode, cut=len(text) >= _CUT) if episode else ():
                words = set(content(told))
                said = max((_share(words, fact) for fact in known), default=0.0)
                if said < SAID and asked & words and len(words) >= LEAST_WORDS:
                    scores[told, id] = max(scores.get((told, id), 0.0), score + _share(asked, words))
    best = sorted(scores, key=lambda told: (-scores[told], told))[:2]
    edits: list[dict[str, object]] = [
        {
            "op_type": "CREATE_FACT",
            "params": {"fact_text": told, "belief": 0.8, "source_episode_ids": [id], "concepts": []},
            "root_cause": "no fact says it",
        }
        for told, id in best
    ]
    edits += _missing_concept(inputs)
    return json.dumps({"chain_of_thought": {}, "edit_ops": edits}, ensure_ascii=False)


def _missing_concept(inputs: Mapping[str, str]) -> list[dict[str, object]]:
    """The concept that has most words in common with the first shown fact that no shown edge joins to one."""
    joined = {source for source, _, _ in json.loads(inputs["edges"])}
    facts = [
        (id, text)
        for _, items in json.loads(inputs["found"])
        for id, kind, _, text in items
        if kind == "fact"
    ]
    labels = [label for _, _, label in json.loads(inputs["concepts"])]
    for id, text in facts:
        if id not in joined:
            words = set(content(text))
            label = max(labels, key=lambda label: _share(content(label.replace("_", " ")), words), default="")
            if words.isdisjoint(content(label.replace("_", " "))):
                return []
            params = {"concept_label": label, "connected_node_ids": [id]}
            return [
                {"op_type": "CREATE_CONCEPT", "params": params, "root_cause": "it is joined to no concept"}
            ]
    return []


def verify(inputs: Mapping[str, str]) -> str:
    """Which edits have no fault; a fault is the reason of a rejection."""
    question = inputs["question"]
    items = {id: (kind, text) for id, kind, text in _items(inputs["memory"])}
    passed, rejections = [], []
    for number, (kind, text, ids, _) in enumerate(json.loads(inputs["edits"]), start=1):
        shown = [items[id] for id in ids if id in items]
        fault = _fact_fault(question, text, shown, items) if kind == "fact" else _concept_fault(text, shown)
        if fault is None:
            passed.append(number)
        else:
            rejections.append({"index": number, "reason": fault})
    return json.dumps({"passed_indices": passed, "rejections": rejections})


def _fact_fault(
    question: str, text: str, shown: Sequence[tuple[str, str]], items: dict[str, tuple[str, str]]
) -> str | None:
    """Why a fact may not be added; none if it may."""
    sources = [source for kind, source in shown if kind == "episode"]
    borne = {stem for source in sources for stem in (*content(source), *_resolved(source))}
    words = set(content(text))
    others = [set(content(other)) for kind, other in items.values() if kind == "fact"]
    faults = (
        ("it names no shown episode", not sources),
        ("it has a relative time", any(not _absolute(found.group()) for found in TIME.finditer(text))),
        ("a figure is not in its episodes", any(is_number(word) and word not in borne for word in words)),
        ("a name is not in its episodes", any(set(content(name)) - borne for name in _names(text))),
        ("it is about another than who speaks", _of_another(text, sources)),
        (
            "it denies what its episodes do not",
            _denies(text) and not any(_denies(source) for source in sources),
        ),
        ("its words are not in its episodes", _share(words, borne) < BORNE_OUT),
        ("a fact says the same", any(_share(words, other) >= _SAME for other in others)),
        ("it has no word of the question", not words & set(content(question))),
    )
    return next((fault for fault, found in faults if found), None)


def _concept_fault(label: str, shown: Sequence[tuple[str, str]]) -> str | None:
    """Why a concept may not be added: each item that it joins must have a word of it."""
    words = set(content(label.replace("_", " ")))
    if not words or not shown:
        return "it is about nothing that is shown"
    strays = any(not words & set(content(text)) for _, text in shown)
    return "an item has none of its words" if strays else None


def _items(memory: str) -> list[tuple[str, str, str]]:
    return [(id, kind, text) for id, kind, text in json.loads(memory)]


def _share(wanted: Collection[str], there: Collection[str]) -> float:
    """Share of some distinct words that are there; 0 of none."""
    distinct = set(wanted)
    return len(distinct.intersection(there)) / len(distinct) if distinct else 0.0


def _names(text: str) -> list[str]:
    """The capitalised words that carry meaning; the first of a sentence may be one that is none."""
    return [name for name in _NAME.findall(text) if content(name)]


def _key(question: str) -> set[str]:
    """The question's words that carry meaning; without its names, which nearly every item has, if others are left."""
    words = set(content(question))
    names = {stem for name in _names(question) for stem in content(name)}
    return words - names or words


def _of_another(text: str, sources: Sequence[str]) -> bool:
    """Whether a fact begins with a name that is not a speaker's of its episodes."""
    first = _NAME.match(text)
    speakers = {episode.speaker for source in sources if (episode := _read(source))}
    return bool(first and content(first.group()) and not any(first.group() in name for name in speakers))


def _denies(text: str) -> bool:
    return bool(_NEGATED.search(text))


def _absolute(time: str) -> bool:
    return bool(re.search(r"\b\d{4}\b", time))


def _read(text: str) -> _Episode | None:
    found = _EPISODE.fullmatch(text)
    return _Episode(found["speaker"], found["said"], _day(found["date"])) if found else None


def _day(written: str | None) -> date | None:
    try:
        return datetime.strptime(written, "%d %B, %Y").replace(tzinfo=UTC).date() if written else None
    except ValueError:
        return None


def _told(episode: _Episode, *, cut: bool) -> list[str]:
    """What an episode tells, sentence by sentence; a question, and a sentence whose time is unclear, tells nothing."""
    said = list(clauses(episode.said))
    told = []
    for sentence in said[:-1] if cut else said:
        dated = _dated(sentence, episode.day)
        if dated is not None and not sentence.rstrip().endswith("?"):
            told.append(f"{episode.speaker}: {dated}")
    return told


def _dated(sentence: str, day: date | None) -> str | None:
    """A sentence with its times written out; none if one is not understood."""
    parts, end = [], 0
    for found in TIME.finditer(sentence):
        if _absolute(found.group()):
            continue
        written = _written(found.group(), day)
        if written is None:
            return None
        parts += [sentence[end : found.start()], written]
        end = found.end()
    return "".join([*parts, sentence[end:]])


def _written(time: str, day: date | None) -> str | None:
    """`on 7 May 2023`, `in May 2023` or `in 2023` for a relative time; none if it is not understood."""
    resolved = resolve(time, day, "improved") if day else None
    if resolved is None:
        return None
    match resolved.date.split("-"):
        case [year]:
            return f"in {year}"
        case [_, _]:
            return f"in {date.fromisoformat(resolved.date + '-01'):%B %Y}"
    then = date.fromisoformat(resolved.date)
    return f"{'around' if resolved.approximate else 'on'} {then.day} {then:%B %Y}"


def _resolved(source: str) -> list[str]:
    """The words of the dates that an episode's relative times stand for."""
    episode = _read(source)
    if episode is None:
        return []
    written = [_written(found.group(), episode.day) for found in TIME.finditer(episode.said)]
    return [stem for each in written if each for stem in content(each)]
