"""Every column that a run leaves is documented, with its type and unit, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import results.columns
from memory import tables as graph_tables
from memory.forgetting.passes import FORGETTING
from results import schemas
from results.arena import SLOPES, STEPS
from results.columns import GRAPHS, documented
from results.ranking import RANKS
from results.storage import SCHEMA as STORAGE
from results.switches import BUDGET_ROWS, SWITCH_ROWS
from results.taggraph import CAUSE_COUNTS, FILL, MISSES
from results.waterfall_types import SCHEMA as WATERFALL_TYPES
from tasks.entities import ENTITIES
from tasks.frontier import ROWS, SIZES
from tasks.hubs import HUBS
from tasks.hubs import ROWS as HUB_ROWS
from tasks.ingest import GROWTH
from tasks.models.ledger import SCHEMA as CALLS
from tasks.models.pace_history import SCHEMA as PACE
from tasks.rank_tables import LEFT_OUT
from tasks.words import WORDS

DECLARED = {
    **schemas.TABLES,
    "vectors": schemas.vectors(3),
    "vectors_beside": schemas.vectors(3),
    "calls": CALLS,
    "pace": PACE,
    "entities": ENTITIES,
    "waterfall_types": WATERFALL_TYPES,
    "switch_rows": SWITCH_ROWS,
    "budget_rows": BUDGET_ROWS,
    "arena_steps": STEPS,
    "arena_slopes": SLOPES,
    "frontier_rows": ROWS,
    "frontier_sizes": SIZES,
    "five_ws_fill": FILL,
    "five_ws_misses": MISSES,
    "five_ws_causes": CAUSE_COUNTS,
    "words": WORDS,
    "ranks": RANKS,
    "ranking_left_out": LEFT_OUT,
    "hubs": HUBS,
    "hub_rows": HUB_ROWS,
    f"{GRAPHS}nodes": graph_tables.node_schema(3),
    f"{GRAPHS}edges": graph_tables.EDGES,
    f"{GRAPHS}titles": graph_tables.TITLES,
    f"{GRAPHS}turns": graph_tables.TURNS,
}
"""Tables that are published with just these columns; graphs have a column `history` before them."""
OF_TAGS = {"five_ws_fill", "five_ws_misses", "five_ws_causes", "ranking_printed", "ranking_tag_noise"}
"""Left by ranking studies that have systems over 5W notes; see `tests.flows.test_taggraph_runs`."""
WITH_AN_ARM = {"storage": STORAGE, "growth": GROWTH, "forgetting": FORGETTING}
UNITS = {
    *("", "UTC", "share", "probability", "cosine", "USD", "ms", "bytes", "tokens", "tokens (o200k_base)"),
    *("questions", "items", "nodes", "edges", "turns", "accesses", "queries", "pairs", "rows", "draws"),
    *(
        "requests",
        "days",
        "tries",
        "sessions",
        "steps",
        "share a step",
        "words",
        "edits",
        "percent",
        "percentage points",
    ),
}


def type_name(kind: pa.DataType) -> str:
    """A type as `columns.toml` names it; a category is a string on disk."""
    if pa.types.is_fixed_size_list(kind):
        return "vector"
    if pa.types.is_list(kind):
        return (
            "list<struct>" if pa.types.is_struct(kind.value_type) else f"list<{type_name(kind.value_type)}>"
        )
    if pa.types.is_timestamp(kind):
        assert (kind.unit, kind.tz) == ("us", "UTC")
        return "timestamp"
    return "string" if pa.types.is_large_string(kind) else str(kind)


def told(table: str) -> dict[str, str]:
    return {
        column.name: "string" if column.type == "category" else column.type
        for column in documented()[table].columns
    }


def columns_of(schema: pa.Schema) -> dict[str, str]:
    return {field.name: type_name(field.type) for field in schema}


@pytest.mark.parametrize("name", DECLARED)
def test_the_columns_of_a_declared_table_are_documented_in_their_order_and_no_others(name: str) -> None:
    columns = {"history": "string"} if name.startswith(GRAPHS) else {}
    columns |= columns_of(DECLARED[name])
    assert list(told(name).items()) == list(columns.items())


@pytest.mark.parametrize("name", WITH_AN_ARM)
def test_tables_of_arms_name_the_arm_first(name: str) -> None:
    assert list(told(name).items()) == list({"arm": "string", **columns_of(WITH_AN_ARM[name])}.items())


def published(run: Path) -> Iterator[tuple[str, Path]]:
    for path in run.glob("*.parquet"):
        yield path.stem, path
    for path in run.glob("graphs/*/*.parquet"):
        yield f"{GRAPHS}{path.stem}", path


def test_what_runs_leave_is_what_is_documented(
    representation_run: Path,
    forgetting_run: Path,
    own_run: Path,
    arena_run: Path,
    association_run: Path,
    use_time_run: Path,
    ranking_run: Path,
    memories_run: Path,
) -> None:
    left = set()
    for run in (
        representation_run,
        forgetting_run,
        own_run,
        arena_run,
        association_run,
        use_time_run,
        ranking_run,
        memories_run,
    ):
        for name, path in published(run):
            left.add(name)
            found = columns_of(pq.read_schema(path))
            if name.startswith(GRAPHS) and "history" not in found:
                found = {"history": "string", **found}
            assert found == told(name), path
    # Where a memory could not be built, or a study has a second embedder.
    there_otherwise = {f"{GRAPHS}unbuilt", "vectors_beside", *OF_TAGS}
    assert left == set(documented()) - there_otherwise


def test_every_column_has_a_known_unit_and_a_sentence() -> None:
    for table in documented().values():
        assert table.about.endswith("."), table.name
        for column in table.columns:
            assert column.meaning.endswith("."), (table.name, column.name)
            assert column.unit in UNITS, (table.name, column.name)


def test_a_share_is_within_zero_and_one(
    representation_run: Path,
    forgetting_run: Path,
    arena_run: Path,
    association_run: Path,
    use_time_run: Path,
    ranking_run: Path,
) -> None:
    differences = {"difference", "low", "high", "lower"}
    for run in (representation_run, forgetting_run, arena_run, association_run, use_time_run, ranking_run):
        for name, path in published(run):
            shares = [
                column.name
                for column in documented()[name].columns
                if column.unit in ("share", "probability") and column.name not in differences
            ]
            frame = pq.read_table(path, columns=shares).to_pandas()
            assert frame.min().dropna().ge(0).all(), path
            assert frame.max().dropna().le(1).all(), path


def test_the_page_for_people_is_made_from_the_same_place() -> None:
    page = Path(results.columns.__file__).with_name("COLUMNS.md").read_text(encoding="utf-8")
    assert page == results.columns.markdown(), "run python -m results.columns > results/COLUMNS.md"
