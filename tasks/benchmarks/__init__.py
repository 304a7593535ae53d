"""The benchmarks: conversations with questions, each read from its own file.

`load` gives any of them as `Conversations`. No benchmark's data is part of this project but the small
`sample`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memory.conversation import Conversations
from memory.errors import BadInput
from tasks.benchmarks import (
    ambtext,
    atant,
    beam,
    factconsolidation,
    locomo,
    longmemeval,
    memoryarena,
    own,
    personamem,
    updates,
)

__all__ = ["BENCHMARKS", "Benchmark", "files_of", "find", "load"]

_SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is known of a benchmark before its file is read.

    Attributes:
        name: As the command line and the tables call it.
        description: One line for a person.
        files: Usual names of its file, best first; each may have `.gz` after it.
        loader: Reads its file; the second argument is the benchmark's name.
        upstream: Where its file is published; none if it is not.
        sha256: Hash of the published file; none if it is not published.
        licence: Of the data; empty for one's own, and where the publisher states none.
        built_in: Whether its file is part of this project.
        in_steps: Whether its questions are steps of a task, each asked before the memory hears what was right.
        in_between: Whether its questions are asked in between of their sessions; steps are.
        judge: The judge of a study that names none; empty for the study's own default.
        beside: Finds a second file that its loader reads, beside the first; none where there is none.
    """

    name: str
    description: str
    files: tuple[str, ...]
    loader: Callable[[Path, str], Conversations]
    upstream: str | None
    sha256: str | None
    licence: str
    built_in: bool = False
    in_steps: bool = False
    in_between: bool = False
    judge: str = ""
    beside: Callable[[Path], Path | None] | None = None


_LONGMEMEVAL = "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned/resolve/main"
_ORACLE_SHA256 = "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c"
_LOCOMO = "https://raw.githubusercontent.com/snap-research/locomo/main/data/locomo10.json"
_LOCOMO_SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"


def _arena(task: str, config: str, description: str) -> Benchmark:
    """One of MemoryArena's tasks; `config` is the publisher's name for it."""
    return Benchmark(
        name=f"{memoryarena.PREFIX}{task}",
        description=f"MemoryArena, {description}; asked step by step",
        files=(f"{config}.jsonl", f"{config}.json", f"{config}/data.jsonl"),
        loader=memoryarena.load,
        upstream=None,
        sha256=None,
        licence="",
        in_steps=True,
        in_between=True,
        judge="key_facts",
    )


def _facts(source: str, name: str) -> Benchmark:
    """One source of MemoryAgentBench's conflict resolution."""
    hops = "several hops" if source.startswith("mh") else "one hop"
    size = source.partition("-")[2]
    return Benchmark(
        name=name,
        description=f"MemoryAgentBench, 100 questions of {hops} over facts that replace one another, {size} tokens",
        files=(
            "memoryagentbench_conflict_resolution.json",
            "memoryagentbench_conflict_resolution.jsonl",
            "Conflict_Resolution.json",
        ),
        loader=factconsolidation.load,
        upstream=None,
        sha256=None,
        licence="MIT",
        judge="substring",
    )


def _beam(name: str, description: str) -> Benchmark:
    return Benchmark(
        name=name,
        description=f"BEAM 100K, {description}",
        files=("beam_100k.tar",),
        loader=beam.load,
        upstream=None,
        sha256=None,
        licence="CC BY-SA 4.0",
        judge="per_type",
    )


def _persona(name: str, description: str) -> Benchmark:
    return Benchmark(
        name=name,
        description=f"PersonaMem 32k, {description}",
        files=(personamem.QUESTIONS, f"personamem/{personamem.QUESTIONS}"),
        loader=personamem.load,
        upstream=None,
        sha256=None,
        licence="",
        judge="choice",
        beside=personamem.contexts_beside,
    )


def _stories(name: str, description: str, *, own_file: bool) -> Benchmark:
    """Stories in ATANT's shape, isolated or cumulative as the name says."""
    return Benchmark(
        name=name,
        description=f"{description}; passed if all expected strings are said",
        files=("stories.json",) if own_file else ("atant.json", "atant.jsonl", "expected_answers.json"),
        loader=atant.load,
        upstream=None,
        sha256=None,
        licence="MIT" if own_file else "",
        built_in=own_file,
        judge="strings",
    )


BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            name=_SAMPLE,
            description="12 questions over every LongMemEval type; built in, for trying things out",
            files=("sample.json",),
            loader=longmemeval.load,
            upstream=None,
            sha256=None,
            licence="MIT",
            built_in=True,
        ),
        Benchmark(
            name="longmemeval-oracle",
            description="LongMemEval, 500 questions, evidence sessions only",
            files=("longmemeval_oracle.json", "longmemeval_oracle.jsonl"),
            loader=longmemeval.load,
            upstream=f"{_LONGMEMEVAL}/longmemeval_oracle.json",
            sha256=_ORACLE_SHA256,
            licence="MIT",
        ),
        Benchmark(
            name="longmemeval-s",
            description="LongMemEval S, 500 questions, about 48 sessions each",
            files=(
                "longmemeval_s_cleaned.json",
                "longmemeval_s_cleaned.jsonl",
                "longmemeval_s_cleaned.499of500.jsonl",
                "longmemeval_s.json",
                "longmemeval_s.jsonl",
            ),
            loader=longmemeval.load,
            upstream=f"{_LONGMEMEVAL}/longmemeval_s_cleaned.json",
            sha256="d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
            licence="MIT",
        ),
        Benchmark(
            name="locomo",
            description="LoCoMo, 1,540 answerable questions about 10 long conversations",
            files=("locomo10.json", "locomo10.jsonl"),
            loader=locomo.load,
            upstream=_LOCOMO,
            sha256=_LOCOMO_SHA256,
            licence="CC BY-NC 4.0",
        ),
        Benchmark(
            name=locomo.ADVERSARIAL,
            description="LoCoMo, the 446 questions that its conversations do not answer",
            files=("locomo10.json", "locomo10.jsonl"),
            loader=locomo.load,
            upstream=_LOCOMO,
            sha256=_LOCOMO_SHA256,
            licence="CC BY-NC 4.0",
        ),
        _arena("shopping", "bundled_shopping", "150 bundles of 6 products that must go together"),
        _arena("travel", "group_travel_planner", "270 groups of travellers who join one another"),
        _arena("search", "progressive_search", "221 chains of searches, 1,641 questions"),
        Benchmark(
            name=ambtext.NAME,
            description="AMB-Text of RD-Forget, 86 text questions of LoCoMo's first conversation, in between",
            files=("locomo10.json", "locomo10.jsonl"),
            loader=ambtext.load,
            upstream=_LOCOMO,
            sha256=_LOCOMO_SHA256,
            licence="CC BY-NC 4.0",
            in_between=True,
        ),
        Benchmark(
            name=updates.NAME,
            description="LME-KU of RD-Forget, LongMemEval oracle's 78 knowledge-update questions",
            files=("longmemeval_oracle.json", "longmemeval_oracle.jsonl"),
            loader=updates.load,
            upstream=f"{_LONGMEMEVAL}/longmemeval_oracle.json",
            sha256=_ORACLE_SHA256,
            licence="MIT",
        ),
        _facts(factconsolidation.SOURCES[0], factconsolidation.PREFIX),
        *(_facts(source, f"{factconsolidation.PREFIX}-{source}") for source in factconsolidation.SOURCES),
        _beam(beam.NAME, "400 questions of ten abilities about 20 chats"),
        _beam(beam.RD_FORGET, "the 150 questions of RD-Forget, as inferred from its paper"),
        _persona(personamem.NAME, "589 multiple-choice questions about 20 personas"),
        _persona(personamem.RD_FORGET, "the 579 questions of RD-Forget"),
        _stories(
            atant.OWN_STORIES,
            "6 stories in ATANT's shape, each in a memory of its own; built in",
            own_file=True,
        ),
        _stories(
            f"{atant.OWN_STORIES}{atant.CUMULATIVE}", "the 6 stories in one memory; built in", own_file=True
        ),
        _stories(atant.ATANT, "ATANT, each story in a memory of its own", own_file=False),
        _stories(f"{atant.ATANT}{atant.CUMULATIVE}", "ATANT, all stories in one memory", own_file=False),
        Benchmark(
            name=own.OWN,
            description="one's own conversations: turns.jsonl, and questions.jsonl if there are any",
            files=(own.TURNS,),
            loader=own.load,
            upstream=None,
            sha256=None,
            licence="",
            beside=own.questions_beside,
        ),
    )
}


def find(name: str, data: Path | None) -> Path:
    """The file of a benchmark: `data` itself, or one of the benchmark's usual names in the folder `data`.

    The sample is found without `data`, and whatever it is.

    Raises:
        BadInput: If the benchmark is unknown, or there is no such file.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        raise BadInput(f"benchmark {name!r}: unknown; choose one of {', '.join(BENCHMARKS)}")
    if benchmark.built_in:
        return Path(__file__).with_name(benchmark.files[0])
    if data is None:
        fetched = f", or `palimpsest fetch {name}` first" if benchmark.upstream else ""
        raise BadInput(f"benchmark {name}: needs its file; give --data FILE_OR_DIR{fetched}")
    if not data.is_dir():
        return data
    for file in benchmark.files:
        for candidate in (data / file, data / f"{file}.gz"):
            if candidate.is_file():
                return candidate
    names = ", ".join(benchmark.files)
    raise BadInput(f"{data}: no file of benchmark {name}; looked for {names}, each also with .gz")


def files_of(name: str, data: Path | None) -> list[Path]:
    """All files that `load` reads, the benchmark's own first.

    Raises:
        BadInput: As `find`.
    """
    path = find(name, data)
    second = BENCHMARKS[name].beside
    beside = second(path) if second else None
    return [path, beside] if beside else [path]


def load(name: str, data: Path | None = None) -> Conversations:
    """Load a benchmark from its file, or from the folder that holds its file.

    Raises:
        BadInput: If the benchmark is unknown, its file is not found, or the file is not as it
            should be.
    """
    path = find(name, data)
    return BENCHMARKS[name].loader(path, name)
