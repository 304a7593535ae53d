"""What a study would still buy: its plan is walked with models that are not asked.

The walk takes place in a folder of its own that is removed again, with the store opened for looking. Where there are
many histories, it takes a seeded sample of them, and what it finds is scaled to all; extraction, which is most of the
cost, is counted over every distinct turn in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.conversation import Conversations
from memory.prompts.extraction import request, spoken_text
from memory.systems import find
from tasks import (
    analyse,
    arena,
    associate,
    bootstrap,
    extract,
    frontier,
    growth,
    hubs,
    load,
    plant,
    rank_tables,
    score,
    storage,
    switches,
    switches_budgets,
    switches_tables,
    use_time,
    waterfall,
    waterfall_types,
    words,
)
from tasks.benchmarks.limits import limit
from tasks.context import simulated
from tasks.execute import Incomplete
from tasks.load import content_id, conversations_of
from tasks.models.bundles import simulated_chat_model
from tasks.models.foreseen import Heading, Line, Lines, Span, dollars
from tasks.models.gateway import Place
from tasks.models.holdings import Holdings, holdings_of
from tasks.models.prices import Prices, list_prices
from tasks.models.simulated import Simulation
from tasks.runs import Run, write_run
from tasks.stage import Artefact, DamagedPart, Stage, Work, intact, perform
from tasks.start import plan_of, prepare
from tasks.study import Study

# With more histories than so many, or more turns in them, no more are walked, and the rest is scaled.
_HISTORIES = 25
_TURNS = 4_000

# Stages on whose artefacts no call depends, and that ask no model, or offline ones; what `plant` embeds, some hundred
# texts, is nothing beside the rest.
_FREE = frozenset(
    step.STAGE.name
    for step in (
        growth, score, waterfall, waterfall_types, bootstrap, arena, frontier, storage, analyse,
        switches, switches_budgets, switches_tables, plant, associate, use_time, rank_tables,
    )
)  # fmt: skip
# What stages do here instead of their work.
_INSTEAD = {hubs.STAGE.name: hubs.embedded, words.STAGE.name: words.embedded}
# Stages whose calls grow with the turns; those of all others grow with the questions.
_BY_TURN = frozenset({"embed", "merge", "ingest"})


@dataclass(frozen=True, slots=True)
class Priced:
    """Calls under a heading, with their dollars; none where the model has no known price."""

    heading: Heading
    line: Line
    usd: Span | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would still buy.

    Attributes:
        run: The run that is meant.
        complete: Whether all of it is there already.
        lines: Calls by stage, condition and model, in the order in which they are made.
        histories: How many histories were walked, and how many there are.
    """

    run: Run
    complete: bool
    lines: Lines
    histories: tuple[int, int]

    @property
    def scaled(self) -> bool:
        """Whether part of it is an extrapolation."""
        return self.histories[0] < self.histories[1]

    @property
    def prices(self) -> Prices:
        """The prices that hold for the study."""
        return list_prices().replaced(self.run.study.prices)

    def priced(self) -> list[Priced]:
        """The lines with their dollars."""
        batch = self.run.study.batch
        return [Priced(h, line, dollars(h, line, self.prices, batch=batch)) for h, line in self.lines.items()]


def estimate(
    study: Study, data: Path | None, store: Path, out: Path | None, *, histories: int | None = None
) -> Estimate:
    """Estimate what running a study would buy now; nothing is bought, and nothing is written that stays.

    Args:
        study: What would be run.
        data: The benchmark's file or a folder that holds it; none for the sample.
        store: Folder of the calls that are bought; it need not be there.
        out: The run's folder, which need not be there either; none is its usual place.
        histories: How many to walk at most; none leaves it to the estimate: all if they are few and short.

    Raises:
        BadInput: As `tasks.start.prepare`, or if the store is damaged.
    """
    folder, run = prepare(study, data, store, out)
    everything = conversations_of(study.benchmark, data, study.limit, study.questions, study.seed)
    total = len(everything.histories)
    if _is_complete(folder, run):
        return Estimate(run, True, {}, (total, total))
    walked = _sample(everything, histories, study.seed)
    with holdings_of(store) as holdings:
        lines = _walk(run, walked, holdings)
        if walked is not everything:
            lines = _scaled(lines, walked, everything)
            if _extracts(study):
                extraction = _extraction(study, everything, holdings)
                lines = extraction | {h: line for h, line in lines.items() if h.stage != extract.STAGE.name}
    return Estimate(run, False, lines, (len(walked.histories), total))


def _sample(everything: Conversations, histories: int | None, seed: int) -> Conversations:
    """So many questions with their histories, or everything where it does not have more histories."""
    if len(everything.histories) <= (histories or _HISTORIES) or not everything.questions:
        return everything
    some = limit(everything, histories or _HISTORIES, seed)
    turns = sum(len(session.turns) for history in some.histories.values() for session in history.sessions)
    if histories or turns <= _TURNS:
        return some
    return limit(everything, max(1, _HISTORIES * _TURNS // turns), seed)


def _is_complete(folder: Path, run: Run) -> bool:
    """Whether every artefact of the run is there; damaged ones are left where they are."""

    def look(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        found = [artefact for artefact in map(intact, works) if artefact is not None]
        if len(found) < len(works):
            raise Incomplete(f"stage {stage.name} is still to be done")
        return found

    try:
        plan_of(folder, run, look, retry_failed=run.study.retry_failed).walk()
    except (Incomplete, DamagedPart, NotADirectoryError):
        return False
    return True


def _extracts(study: Study) -> bool:
    return any(find(condition.system).needs_extractions for condition in study.conditions)


def _walk(run: Run, conversations: Conversations, holdings: Holdings) -> Lines:
    """The lines of a run over these conversations."""
    # However many invented replies are refused: the walk goes on to its end.
    study = run.study.model_copy(update={"max_failed": 1.0})
    floors = (each["value"] for each in run.thresholds if each["parameter"] == "retrieval_floor")
    simulation = Simulation(
        holdings, _given(conversations), study.retry_failed, floor=max(floors, default=0.0)
    )
    instead = {**_INSTEAD, load.STAGE.name: lambda work: load.made(conversations)}

    def execute(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        if stage.name in _FREE:
            return [_nothing(work) for work in works]
        here = Stage(stage.name, stage.version, instead.get(stage.name, stage.make))
        return [perform(here, work) for work in works]

    with _folder() as folder:
        walked = run.model_copy(update={"study": study, "store": str(folder)})
        write_run(folder, walked)
        with simulated(folder, simulation):
            plan_of(folder, walked, execute, retry_failed=study.retry_failed).walk()
    return simulation.lines


def _given(conversations: Conversations) -> frozenset[str]:
    turns = [turn for history in conversations.histories.values() for turn in history.turns]
    questions = (question.text for question in conversations.questions)
    return frozenset((*questions, *(turn.text for turn in turns), *(turn.spoken for turn in turns)))


@contextmanager
def _folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="palimpsest-estimate-") as name:
        yield Path(name).resolve()


def _nothing(work: Work) -> Artefact:
    return Artefact(stage=work.stage, batch=work.batch, fingerprint=work.fingerprint, files={}, content="")


def _scaled(lines: Lines, walked: Conversations, everything: Conversations) -> Lines:
    """The lines of a sample, as those of everything that it was drawn from."""
    by_turn = len(_distinct(everything)) / len(_distinct(walked))
    by_question = len(everything.questions) / len(walked.questions)
    return {
        heading: line * (by_turn if heading.stage in _BY_TURN else by_question)
        for heading, line in lines.items()
    }


def _extraction(study: Study, conversations: Conversations, holdings: Holdings) -> Lines:
    """The lines of extracting every distinct turn."""
    simulation = Simulation(holdings)
    model = simulated_chat_model(
        simulation,
        study.models.extractor,
        Place(extract.STAGE.name),
        json_mode=study.models.json_mode,
        reply_cap=study.models.reply_cap,
        repeat=study.repeat,
    )
    for speaker, text in _distinct(conversations).values():
        if text.strip():
            model.foresee(request(speaker, text, study.extraction_prompt))
    return simulation.lines


def _distinct(conversations: Conversations) -> dict[str, tuple[str, str]]:
    """Speaker and text of each distinct turn, by content id."""
    return {
        content_id(turn): (turn.speaker, spoken_text(turn))
        for history in conversations.histories.values()
        for turn in history.turns
    }
