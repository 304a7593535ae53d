"""Feeds malformed text to everything that reads what others wrote: no exception outside of the declared ones.

    python -m tests.torture.fuzz 100000

Replies of models, benchmark files and study files are made by breaking sound ones, and out of nothing.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memory.errors import BadInput
from memory.reply import read_json
from memory.validation import read_entities, read_extraction
from tasks.benchmarks import locomo, longmemeval
from tasks.benchmarks.validate import validate
from tasks.kinds import make_study
from tasks.load import questions_table, turns_table
from tasks.models.catalogue import BUNDLES
from tasks.models.keys import redact
from tasks.models.retries import retry_after
from tasks.prompts import answer
from tasks.prompts.judge import read_verdict
from tasks.toml_file import read_fields

HALF_A_CHARACTER = "\ud83d"
_TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        HALF_A_CHARACTER,
        "\x00",
        "\u202e\x1b[2J",
        "NaN",
        "1e999",
        "9" * 5000,
        "a" * 3000,
        "{}",
        "[/]",
        "%s {0}",
        "\n",
    ]
)
_SCALARS = st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | _TEXTS


def values(names: list[str]) -> st.SearchStrategy[Any]:
    """JSON values whose keys are often the names that a reader looks for."""
    keys = st.sampled_from(names) | _TEXTS
    return st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=12,
    )


@st.composite
def broken(draw: st.DrawFn, sound: st.SearchStrategy[str]) -> str:
    """A text, with something before it, after it, inside it or missing from it."""
    text = draw(sound)
    at = draw(st.integers(0, len(text)))
    inserted = draw(
        st.text(alphabet='{}[]",:\\`<>/ntu\n\ud800', max_size=8) | st.sampled_from(["[" * 3000, " " * 3000])
    )
    ways = [
        text[:at],
        text[:at] + inserted + text[at:],
        f"```json\n{text}\n```",
        f"<think>{text[:at]}</think>{text}",
        inserted + text + inserted,
        text,
    ]
    return draw(st.sampled_from(ways))


def _dumped(value: Any) -> str:
    return json.dumps(value)


_REPLY_NAMES = [
    "nodes", "edges", "key", "id", "label", "title", "content", "attributes", "name", "value", "source", "target",
    "relationship", "entities", "correct", "why", "properties", "$defs",
]  # fmt: skip
_LABELS = st.sampled_from(["Person", "person ", "Concept", "Nonsense"]) | _SCALARS
_NODE = st.fixed_dictionaries(
    {},
    optional={"key": _SCALARS, "label": _LABELS, "title": _SCALARS, "attributes": values(["name", "value"])},
)
_EDGE = st.fixed_dictionaries({"source": _SCALARS, "target": _SCALARS}, optional={"relationship": _SCALARS})
_EXTRACTION = st.fixed_dictionaries(
    {},
    optional={
        "nodes": st.dictionaries(_TEXTS, _NODE | _SCALARS, max_size=3)
        | st.lists(_NODE | _SCALARS, max_size=3),
        "edges": st.dictionaries(_TEXTS, _EDGE | _SCALARS, max_size=3)
        | st.lists(_EDGE | _SCALARS, max_size=3),
    },
)
_ENTITIES = st.fixed_dictionaries({"entities": st.lists(_NODE | _SCALARS, max_size=3) | _SCALARS})
_VERDICT = st.fixed_dictionaries(
    {"correct": st.booleans() | st.booleans() | _SCALARS}, optional={"why": _SCALARS}
)


def replies(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    """Replies to one kind of request, sound and broken, and replies to none."""
    whole = st.builds(_dumped, sound)
    return whole | broken(whole) | broken(st.builds(_dumped, values(_REPLY_NAMES))) | _TEXTS


def _extraction(text: str) -> None:
    for mode in ("off", "repair", "reject"):
        try:
            extraction, dropped = read_extraction(text, mode)  # type: ignore[arg-type]
        except ValueError:
            if mode == "reject":
                raise
            continue
        extraction.model_dump_json().encode()
        json.dumps([(fault.kind, fault.detail) for fault in dropped], ensure_ascii=False).encode()


def _entities(text: str) -> None:
    for entity in read_entities(text):
        f"{entity.label} {entity.title} {entity.content}".encode()


_SENT = st.dictionaries(
    st.sampled_from(["retry-after"]), st.text() | st.builds(str, st.floats() | st.integers())
)


def _wait(headers: dict[str, str]) -> None:
    seconds = retry_after(headers)
    assert seconds is None or seconds >= 0


def _redacted(text: str) -> None:
    assert "planted/key+7c1e" not in redact(text + "planted/key+7c1e", ("planted/key+7c1e",))


SOUND = json.loads((Path(longmemeval.__file__).with_name("sample.json")).read_text(encoding="utf-8"))[0]
_SOUND_LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I moved.", "blip_caption": "a boat"}],
    },
    "qa": [{"question": "Where?", "answer": "Sweden", "evidence": ["D1:1"], "category": 4}],
}
_DATES = st.sampled_from(["2023/05/20 (Sat) 02:21", "1:56 pm on 8 May, 2023", "0000/00/00 (Xxx) 99:99"])


def _like(value: object) -> st.SearchStrategy[Any]:
    """Values of the same type, which a reader may take."""
    if isinstance(value, str):
        return _TEXTS | _DATES
    return st.floats(0, 2) if isinstance(value, float) else st.integers(0, 200)


@st.composite
def spoilt(draw: st.DrawFn, sound: dict[str, Any]) -> Any:
    """A sound row in which some values, at any depth, are others."""
    row: Any = json.loads(json.dumps(sound))
    for _ in range(draw(st.integers(0, 2))):
        place: Any = row
        while isinstance(place, dict | list) and place:
            step = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[step], dict | list) or draw(st.booleans()):
                place[step] = draw(
                    _like(place[step]) if draw(st.booleans()) else _SCALARS | values(list(sound))
                )
                break
            place = place[step]
    return row


@st.composite
def files(draw: st.DrawFn, sound: dict[str, Any]) -> bytes:
    """A benchmark file of one or two spoilt rows: an array or lines, gzipped or not, whole or broken."""
    rows = [json.dumps(row) for row in draw(st.lists(spoilt(sound), min_size=1, max_size=2))]
    text = f"[{','.join(rows)}]" if draw(st.booleans()) else "\n".join(rows)
    raw = draw(broken(st.just(text))) if draw(st.integers(0, 3)) == 0 else text
    data = raw.encode("utf-8", "surrogatepass")
    match draw(st.integers(0, 9)):
        case 0:
            return gzip.compress(data)[: draw(st.integers(0, 40))]
        case 1:
            return gzip.compress(data)
        case 2:
            at = draw(st.integers(0, len(data)))
            return data[:at] + draw(st.binary(max_size=4)) + data[at:]
    return data


def _written(data: bytes, suffix: str, read: Callable[[Path], object]) -> None:
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(data)
        file.flush()
        read(Path(file.name))


def _benchmark(data: bytes, name: str) -> None:
    def read(path: Path) -> None:
        loader = longmemeval.load if name == "longmemeval-s" else locomo.load
        loaded = loader(path, name)
        assert turns_table(loaded).num_rows >= 0
        assert questions_table(loaded).num_rows == len(loaded.questions)

    _written(data, ".json", read)


_STUDY_NAMES = [
    "study", "benchmark", "conditions", "system", "profile", "settings", "name", "answer_prompt", "models", "extractor",
    "query", "answerer", "judge", "embedder", "json_mode", "validation", "repeat", "limit", "questions", "seed",
    "resamples", "retry_failed", "budget", "usd", "calls", "tokens", "stages", "pace", "batch", "prices", "repair",
    "max_failed", "api_key", "order", "importance", "threshold", "levels", "policies", "policy", "draws", "margin",
    "dedup_threshold", "retrieval_floor", "half_life_days", "intervals", "budgets", "matched", "clock",
]  # fmt: skip
_SOUND_STUDIES: list[dict[str, Any]] = [
    {
        "benchmark": "sample",
        "conditions": [
            {"system": "graph", "settings": {"dedup_threshold": 0.9}},
            {"system": "flat", "profile": "improved"},
        ],
        "models": BUNDLES["published"].model_dump(),
        "budget": {"usd": 1.5, "stages": {"extract": {"calls": 3}}},
        "pace": {"max_concurrency": 3, "rpm": 60, "tpm": None},
        "max_failed": 0.5,
        "seed": 1,
    },
    {
        "study": "forgetting",
        "policies": [{"policy": "importance", "settings": {"half_life_days": 30.0}, "name": "x"}],
        "importance": {"half_life_days": 90.0},
        "levels": [0.1, 0.5],
        "intervals": [50],
        "draws": 3,
    },
]
STUDIES = st.sampled_from(_SOUND_STUDIES).flatmap(spoilt) | st.dictionaries(
    st.sampled_from(_STUDY_NAMES), values(_STUDY_NAMES), max_size=4
)
_TOML = """study = "representation"
benchmark = "sample"
seed = 1
[models]
extractor = "offline:noun-phrases"
[[conditions]]
system = "graph"
[conditions.settings]
dedup_threshold = 0.9
"""


def _study(fields: dict[str, Any]) -> None:
    study = make_study(fields)
    study.run_name("0" * 64)
    study.model_dump_json().encode()


def _study_file(text: str) -> None:
    _written(text.encode("utf-8", "surrogatepass"), ".toml", lambda path: make_study(read_fields(path)))


@dataclass(frozen=True)
class Target:
    """A reader, what it is fed, and the errors that it may raise."""

    fed: st.SearchStrategy[Any]
    read: Callable[[Any], object]
    declared: type[Exception] = ValueError


TARGETS = {
    "read_json": Target(replies(values(_REPLY_NAMES)), read_json),
    "read_extraction": Target(replies(_EXTRACTION), _extraction),
    "read_entities": Target(replies(_ENTITIES), _entities),
    "read_verdict": Target(replies(_VERDICT), lambda text: read_verdict(text).why.encode()),
    "answer": Target(replies(_TEXTS), answer.read),
    "redact": Target(replies(_VERDICT), _redacted),
    "retry_after": Target(_SENT, _wait),
    "longmemeval": Target(files(SOUND), lambda data: _benchmark(data, "longmemeval-s"), BadInput),
    "locomo": Target(files(_SOUND_LOCOMO), lambda data: _benchmark(data, "locomo"), BadInput),
    "validate": Target(files(SOUND), lambda data: _written(data, ".json", validate), BadInput),
    "make_study": Target(STUDIES, _study, BadInput),
    "read_study": Target(broken(st.just(_TOML)) | _TEXTS, _study_file, BadInput),
}


def fuzz(target: Target, examples: int) -> Counter[str]:
    """How many inputs were read and how many refused.

    Raises:
        Exception: The first that the target does not declare, or a refusal of more than one line.
    """
    ended: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.fed)
    def feed(given_: Any) -> None:
        try:
            target.read(given_)
        except target.declared as refusal:
            assert str(refusal).strip()
            assert not (isinstance(refusal, BadInput) and "\n" in str(refusal)), refusal
            ended["refused"] += 1
        else:
            ended["read"] += 1

    feed()
    return ended


def main(total: int) -> None:
    """Feed so many inputs in all and print what became of them."""
    for name, target in TARGETS.items():
        begun = time.monotonic()
        ended = fuzz(target, -(-total // len(TARGETS)))
        print(
            f"{name:<16}{ended.total():>8} inputs: {ended['read']:>6} read, {ended['refused']:>6} refused, "
            f"{time.monotonic() - begun:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
