"""Starting a run, finding it again, and bringing it to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from memory.calibration import ESTIMATE
from memory.errors import BadInput, CallFailed
from memory.protocol import Models
from memory.systems import find
from results.arena import RANGES
from results.errors import DiskFull
from tasks import arena, bootstrap, growth, repair, switches_tables
from tasks.association_plan import AssociationPlan
from tasks.association_study import AssociationStudy
from tasks.benchmarks import BENCHMARKS
from tasks.benchmarks.own import OWN, QUESTIONS
from tasks.collecting import in_batches
from tasks.context import Undeclared, clear_notes, exhausted, ledger_tables, lost_calls
from tasks.damaged_parts import hashes_of_tables, set_aside_tables, told
from tasks.draw import draw
from tasks.draw_tables import draw_tables
from tasks.execute import Execute, Incomplete, only_found
from tasks.failures import StageFailed, TooManyFailed, only_unfinished
from tasks.forgetting_plan import ForgettingPlan
from tasks.forgetting_study import ForgettingStudy
from tasks.load import conversations_of
from tasks.models.bundles import choose
from tasks.models.catalogue import BATCHING, OFFLINE
from tasks.models.prices import list_prices
from tasks.parameters import THRESHOLDS, parameters
from tasks.plan import Plan
from tasks.publish import publish, publish_verdicts
from tasks.ranking_plan import RankingPlan
from tasks.ranking_study import RankingStudy
from tasks.runs import Run, read_run, versions, write_run
from tasks.stage import Artefact, Stage, Work
from tasks.study import Study
from tasks.study_diff import differences, one_line
from tasks.switches_draw import draw_switches
from tasks.switches_plan import ExplainedPlan
from tasks.use_time_plan import UseTimePlan
from tasks.use_time_study import UseTimeStudy

RUNS = Path("results/runs")
_INTERRUPTS = {"KeyboardInterrupt": "interrupted", "TerminationSignal": "cancelled, or told to end"}
"""In words, what has no message: Python's word for Ctrl-C, and Prefect's for SIGTERM, with which it also cancels."""
PLANS: Mapping[type[Study], type[Plan]] = {
    Study: Plan,
    ForgettingStudy: ForgettingPlan,
    AssociationStudy: AssociationPlan,
    UseTimeStudy: UseTimePlan,
    RankingStudy: RankingPlan,
}
"""The plan of each kind of study; one that explains itself has another."""
BUYING = ("extract", "embed", "entities", "merge", "ingest", "recall", "answer", "judge")
"""The stages that may ask models, and may have budgets of their own."""


def start(study: Study, data: Path | None, store: Path, out: Path | None) -> tuple[Path, Run]:
    """The run folder of a study on its data, made if it is new.

    Raises:
        BadInput: As `prepare` and `begin`.
    """
    folder, run = prepare(study, data, store, out)
    begin(folder, run)
    return folder, run


def prepare(study: Study, data: Path | None, store: Path, out: Path | None) -> tuple[Path, Run]:
    """Where a study on its data would run, and as what; nothing is written.

    Raises:
        BadInput: If the study or the data cannot be used, or `out` holds another run.
    """
    if data is not None and BENCHMARKS[study.benchmark].built_in:
        raise BadInput(
            f"{data}: benchmark {study.benchmark} is built in and reads no file; name the file's with --benchmark"
        )
    _check(study)
    conversations = conversations_of(study.benchmark, data, study.limit, study.questions, study.seed)
    if not conversations.questions and (isinstance(study, ForgettingStudy) or study.explain):
        raise BadInput(f"{data}: holds no questions, which this study asks; put {QUESTIONS} beside the turns")
    name = study.run_name(conversations.sha256)
    folder = (out or RUNS / name).resolve()
    run = Run(
        name=name,
        status="running",
        study=study,
        data=str(data.resolve()) if data else None,
        sha256=conversations.sha256,
        variant=conversations.variant,
        notes=(*conversations.notes, *_estimates(study), *_asked_live(study)),
        arms=[study.arm(condition) for condition in study.conditions],
        thresholds=[asdict(each) for each in parameters(study) if each.parameter in THRESHOLDS],
        store=str(store.resolve()),
        versions=versions(),
    )
    found = read_run(folder) if (folder / "run.json").exists() else run
    if found.name != name:
        raise BadInput(
            f"{folder} holds another run; {one_line(differences(found, run))}; name another folder with --out"
        )
    return folder, run


def plan_of(folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> Plan:
    """The plan of a run's study."""
    return _kind_of_plan(run.study)(folder, run, execute, retry_failed=retry_failed)


def stages_of(study: Study) -> tuple[str, ...]:
    """The names of the stages that a study goes through, in order."""
    left_out = {
        growth.STAGE: study.benchmark != OWN,
        arena.STAGE: study.benchmark not in RANGES,
        repair.STAGE: not (isinstance(study, AssociationStudy) and study.repair),
    }
    return tuple(s.name for s in _kind_of_plan(study).STAGES if not left_out.get(s))


def _kind_of_plan(study: Study) -> type[Plan]:
    return ExplainedPlan if study.explain else PLANS[type(study)]


def begin(folder: Path, run: Run) -> None:
    """Make the folders of a run and of its store, and write `run.json`.

    Raises:
        BadInput: If one of them cannot be written.
    """
    for option, path in (("--out", folder), ("--store", Path(run.store))):
        try:
            path.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=path).close()
        except OSError as error:
            raise BadInput(
                f"{path}: cannot be written ({error.strerror}); choose another folder with {option}"
            ) from error
    clear_notes(run)
    write_run(folder, run)


def find_complete(folder: Path, run: Run, *, retry_failed: bool = False) -> bool:
    """Whether the run has come to its end with everything that its plan asks for; nothing is made.

    It is not enough that all parts and tables are there: an attempt that was killed may have made the last parts, and
    left the tables of the attempt before it.
    """
    if not (folder / "run.json").exists():
        return False
    found = read_run(folder)
    if found.status != "complete" or set_aside_tables(folder, found.tables):
        return False
    try:
        made = plan_of(folder, run, only_found, retry_failed=retry_failed).walk()
    except (Incomplete, TooManyFailed):
        return False
    asked = ("metrics", "table_7") if bootstrap.STAGE.name in made.by_stage else ()
    return all((folder / f"{table}.parquet").exists() for table in (*asked, "calls"))


def carry_out(folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> Run:
    """Walk the plan, publish the tables, and say in `run.json` how it ended.

    Whatever ends the walk early is raised after `run.json` says so.
    """
    plan = plan_of(folder, run, _buying(run.study, execute), retry_failed=retry_failed)
    try:
        unfinished = _walk(plan)
        publish(folder, run, plan.made, ledger_tables(run))
        if isinstance(run.study, ForgettingStudy) and not unfinished:
            draw(folder, run.study)
        draw_tables(folder)
        if switches_tables.STAGE.name in plan.made.by_stage:
            draw_switches(folder)
    except BaseException as error:  # the one boundary: an interrupt, too, must leave a run that says so
        reason = str(error) or _INTERRUPTS.get(type(error).__name__, type(error).__name__)
        stopped = {"status": "stopped", "reason": reason}
        with suppress(DiskFull):  # then it cannot be said there, and the error itself is the more telling one
            write_run(folder, run.model_copy(update=stopped))
        raise
    notes = (*run.notes, *told(folder))
    update = {
        "notes": notes,
        "tables": hashes_of_tables(folder),
        **_ending(run, plan.made.counts(), unfinished),
    }
    finished = run.model_copy(update=update)
    write_run(folder, finished)
    return finished


def _buying(study: Study, execute: Execute) -> Execute:
    """How works are performed: as `execute` does, in batches first where the study says so."""
    return in_batches(execute) if study.batch else execute


def _walk(plan: Plan) -> str:
    """Walk a plan as far as calls can be made; returns why its last stages could not begin, empty if they did."""
    try:
        plan.walk()
    except (StageFailed, CallFailed) as error:
        if not only_unfinished(error):
            raise
        return str(error)
    return ""


def _ending(run: Run, counts: dict[str, dict[str, int]], unfinished: str) -> dict[str, object]:
    """What `run.json` says of a run whose plan was walked."""
    pending = sum(total.get("pending", 0) for total in counts.values())
    if not pending and not unfinished:
        return {"status": "complete", "reason": "", "counts": counts}
    waiting = f"{pending:,} rows wait" + (f", and {unfinished}" if unfinished else "")
    lost = lost_calls(run)
    if lost:
        waiting += f"; {lost:,} of their calls were bought once and lost to damage, --repair buys them again"
    refusal = exhausted(run)
    if refusal:
        reason = f"{refusal}; {waiting}: the same command with more budget goes on"
        return {"status": "budget_exhausted", "reason": reason, "counts": counts}
    cause = "" if lost else " after faults of transport"
    reason = f"{waiting}{cause}; the same command tries them again"
    return {"status": "incomplete", "reason": reason, "counts": counts}


def judge_anew(folder: Path, run: Run, execute: Execute) -> Path:
    """Judge a run's answers as `run.study` says now, beside its own verdicts; returns the folder of the new tables.

    All stages up to the answers are found and not made.

    Raises:
        BadInput: If one of them is not there as the program would make it now: nothing is answered again.
    """
    study = run.study

    buying = _buying(study, execute)

    def judging(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        anew = stage.name in (
            "judge",
            "score",
            "waterfall",
            "waterfall_types",
            "bootstrap",
            "arena",
            "analyse",
            "associate",
            "use_time",
        )
        return buying(stage, works) if anew else only_found(stage, works)

    try:
        made = plan_of(folder, run, judging).walk()
    except Incomplete as error:
        raise BadInput(f"{folder}: {error}; start the study again first, then judge anew") from error
    judged_by = "".join(
        letter if letter.isalnum() else "-" for letter in f"{study.judge}-{study.models.judge}"
    )
    to = folder / "rejudged" / judged_by
    publish_verdicts(folder, to, run, made)
    return to


def _check(study: Study) -> None:
    """Refuse what cannot run, before anything does: each memory is made once, with models that are never asked."""
    whole = isinstance(study, ForgettingStudy | AssociationStudy) or study.explain
    if BENCHMARKS[study.benchmark].in_between and whole:
        what = "--explain" if study.study == "representation" else f"study {study.study}"
        raise BadInput(
            f"{what}: builds memories of whole histories, and {study.benchmark} asks in between of its sessions; "
            "`palimpsest run representation` and `run use-time` do that"
        )
    choose("offline", study.models.model_dump(include=set(OFFLINE)))
    unasked = Undeclared(study.models.embedder, 1)
    for condition in study.conditions:
        arm = study.arm(condition)
        _check_retention(study, arm)
        system = find(condition.system)
        system(system.Settings(**arm["settings"]), Models(unasked, unasked))
    check_budget(study)
    if (isinstance(study, ForgettingStudy) or study.explain) and find_spec("matplotlib") is None:
        what = "--explain" if study.explain else "the forgetting study"
        raise BadInput(f"{what} ends with figures: pip install 'palimpsest[report]' first")


def _check_retention(study: Study, arm: Mapping[str, Any]) -> None:
    """Refuse a condition that forgets after its last session where nothing says which that is."""
    if not arm["settings"].get("retention"):
        return
    if BENCHMARKS[study.benchmark].in_between:
        raise BadInput(
            f"condition {arm['name']}: retention: it forgets after the last session, and {study.benchmark} asks in "
            "between of its sessions; leave it out"
        )
    if isinstance(study, ForgettingStudy):
        raise BadInput(
            f"condition {arm['name']}: retention: the forgetting study applies policies of its own; leave it out, and "
            "name them in the study's policies"
        )


def check_budget(study: Study) -> None:
    """Refuse a budget that could not be kept."""
    unknown = set(study.budget.stages) - set(BUYING)
    if unknown:
        raise BadInput(
            f"budget of stage {min(unknown)}: no such stage buys; those that do: {', '.join(BUYING)}"
        )
    if study.shared and study.runner in ("dask", "ray") and study.budget.limits:
        raise BadInput(
            f"--budget-* with --shared and --runner {study.runner}: machines that share a run do not see in time what "
            "the others spend; leave one of the three away, or limit the key at its provider"
        )
    if not study.budget.in_dollars:
        return
    prices = list_prices().replaced(study.prices)
    for name in dict.fromkeys(study.models.model_dump(include=set(OFFLINE)).values()):
        alias, _, model = name.partition(":")
        if prices.of(alias, model) is None:
            raise BadInput(
                f"a budget in dollars needs the price of {name}: give it with --prices FILE, or limit calls or tokens"
            )


def _asked_live(study: Study) -> list[str]:
    """Which chat models of a study in batches have no batch interface.

    Raises:
        BadInput: If none has.
    """
    models = study.models
    chats = {role: getattr(models, role) for role in ("extractor", "query", "answerer", "judge")}
    live = [f"{role} {name}" for role, name in chats.items() if name.partition(":")[0] not in BATCHING]
    if not study.batch or not live:
        return []
    if len(live) == len(chats):
        raise BadInput(f"--batch: no model of the study has a batch interface; {', '.join(BATCHING)} has one")
    return [f"asked live, for want of a batch interface: {', '.join(live)}"]


def _estimates(study: Study) -> list[str]:
    """What a reader should know of the study's thresholds."""
    bases = {each.basis for each in parameters(study) if each.parameter in THRESHOLDS}
    if ESTIMATE not in bases:
        return []
    return [f"thresholds of the graph: an estimate, not probed, for {study.models.embedder}"]
