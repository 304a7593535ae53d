"""The options that say what is studied, with which models, where and for how much; `run` and `estimate` share them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows import completing

if TYPE_CHECKING:
    from tasks.study import Study


@dataclass(frozen=True)
class StudyOptions:
    """The options as typed, in the order in which `--help` lists them."""

    study: Annotated[
        str,
        typer.Argument(
            help="The study: representation, forgetting, association, use-time or ranking.",
            autocompletion=completing.studies,
        ),
    ] = "representation"
    study_file: Annotated[
        Path | None, typer.Option("--study", help="A study as TOML; options override its fields.")
    ] = None
    benchmark: Annotated[
        str | None,
        typer.Option(help="See `palimpsest list benchmarks`.", autocompletion=completing.benchmarks),
    ] = None
    data: Annotated[Path | None, typer.Option(help="The benchmark's file, or a folder that holds it.")] = None
    systems: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated systems, each with an optional :profile.", autocompletion=completing.systems
        ),
    ] = None
    models: Annotated[
        str | None,
        typer.Option(help="A bundle; see `palimpsest list models`.", autocompletion=completing.bundles),
    ] = None
    extractor: Annotated[str | None, typer.Option(help="provider:model instead of the bundle's.")] = None
    query: Annotated[str | None, typer.Option(help="provider:model that reads questions for entities.")] = (
        None
    )
    answerer: Annotated[str | None, typer.Option(help="provider:model instead of the bundle's.")] = None
    judge_model: Annotated[str | None, typer.Option(help="provider:model instead of the bundle's.")] = None
    embedder: Annotated[str | None, typer.Option(help="provider:model instead of the bundle's.")] = None
    judge: Annotated[
        str | None, typer.Option(help="paper, per_type, key_facts, or a rule: substring, choice, strings.")
    ] = None
    validation: Annotated[str | None, typer.Option(help="off, reject or repair extractions.")] = None
    limit: Annotated[int | None, typer.Option(help="A sample of N questions and their histories.")] = None
    questions: Annotated[int | None, typer.Option(help="N questions of the whole store.")] = None
    seed: Annotated[int | None, typer.Option(help="Seed of samples and resampling.")] = None
    store: Annotated[Path, typer.Option(help="Folder of calls that all runs share.")] = Path("results/store")
    out: Annotated[Path | None, typer.Option(help="Folder of this run.")] = None
    retry_failed: Annotated[bool, typer.Option(help="Ask again where replies stayed unusable.")] = False
    repair: Annotated[bool, typer.Option(help="Buy again what was found damaged.")] = False
    max_failed: Annotated[
        float | None, typer.Option(help="A stage of which a larger share of rows fails ends the run.")
    ] = None
    budget_usd: Annotated[
        list[str] | None,
        typer.Option(
            help="Most dollars of the run over all its attempts; +N: on top of what is spent; STAGE=N."
        ),
    ] = None
    budget_calls: Annotated[list[str] | None, typer.Option(help="Most calls, likewise.")] = None
    budget_tokens: Annotated[list[str] | None, typer.Option(help="Most tokens, likewise.")] = None
    prices: Annotated[Path | None, typer.Option(help="TOML of prices that replace the list prices.")] = None
    thresholds: Annotated[
        Path | None,
        typer.Option(help="TOML of the embedder's thresholds, as `palimpsest calibrate` writes it."),
    ] = None
    max_concurrency: Annotated[int | None, typer.Option(help="Most requests to a provider at once.")] = None
    rpm: Annotated[int | None, typer.Option(help="Most requests a minute to each provider.")] = None
    tpm: Annotated[int | None, typer.Option(help="Most tokens a minute, at their worst.")] = None
    runner: Annotated[
        str | None, typer.Option(help="Where works are done: threads, processes, dask or ray.")
    ] = None
    shared: Annotated[
        str | None, typer.Option(help="URL that workers on several machines share: s3://bucket/prefix.")
    ] = None
    explain: Annotated[
        bool, typer.Option(help="Also say what each switch of the graph is worth; buys nothing.")
    ] = False
    batch: Annotated[bool, typer.Option(help="Buy through OpenAI's Batch API: cheaper, and slower.")] = False

    def made(self) -> Study:
        """The study that the options make; its budget is that of its file.

        Raises:
            memory.errors.BadInput: Naming the option or field that is wrong.
        """
        from flows.running import study_of

        given = {
            "study": self.study,
            "benchmark": self.benchmark,
            "validation": self.validation,
            "judge": self.judge,
            "limit": self.limit,
            "questions": self.questions,
            "seed": self.seed,
            "retry_failed": self.retry_failed or None,
            "repair": self.repair or None,
            "max_failed": self.max_failed,
            "runner": self.runner,
            "shared": self.shared,
            "explain": self.explain or None,
            "batch": self.batch or None,
        }
        choices = {
            "extractor": self.extractor,
            "query": self.query,
            "answerer": self.answerer,
            "judge": self.judge_model,
            "embedder": self.embedder,
        }
        pace = {"max_concurrency": self.max_concurrency, "rpm": self.rpm, "tpm": self.tpm}
        return study_of(
            self.study_file,
            given,
            self.systems,
            self.models,
            choices,
            pace,
            prices=self.prices,
            thresholds=self.thresholds,
        )

    @property
    def amounts(self) -> dict[str, list[str]]:
        """The options `--budget-*` by kind; they may count from what the run has spent."""
        return {
            "usd": self.budget_usd or [],
            "calls": self.budget_calls or [],
            "tokens": self.budget_tokens or [],
        }


def with_study_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of a study before its own; it is given them as its first argument."""
    names = [field.name for field in fields(StudyOptions)]
    shared = inspect.signature(StudyOptions, eval_str=True).parameters.values()
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        options = StudyOptions(**{name: given.pop(name) for name in names})
        command(options, **given)

    called.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]  # Typer reads it
    return called
