"""The notebook computes the tables and figures of both experiments from Parquet, equal to what the runs wrote."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pandas as pd
import pyarrow.parquet as pq
import pytest
from nbclient import NotebookClient

import results
from results.loading import LoadedRun

NOTEBOOK = Path(results.__file__).parent / "example" / "analysis.ipynb"
REPRESENTATION = ("table_1", "table_5", "table_6", "table_7")
FORGETTING = (
    "table_2",
    "noninferiority",
    "frontier",
    "frontier_chance",
    "frontier_differences",
    "frontier_types",
    "frontier_ages",
)


@pytest.fixture(scope="module")
def made(representation_run: Path, forgetting_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the notebook, executed on the two runs, has written its tables and figures."""
    out = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_REPRESENTATION", str(representation_run))
        patch.setenv("PALIMPSEST_FORGETTING", str(forgetting_run))
        patch.setenv("PALIMPSEST_TABLES", str(out / "made"))
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(out)}}).execute()
    return out / "made"


def assert_same(run: LoadedRun, name: str, path: Path) -> None:
    """The same rows, in any order: exactly, but for the last digits of means that are added up in another order."""
    written = getattr(run, name)
    found = pq.read_table(path).to_pandas()
    assert list(found.columns) == list(written.columns)
    assert len(found) > 0
    named = [
        column for column in found if not pd.api.types.is_float_dtype(found[column]) or column == "level"
    ]
    pd.testing.assert_frame_equal(_sorted(found, named), _sorted(written, named), rtol=1e-12, atol=0)


def _sorted(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Plain values, without the difference between one kind of missing and another."""
    plain = frame.astype(object).where(frame.notna(), None)
    return plain.sort_values(by, ignore_index=True)


@pytest.mark.parametrize("name", REPRESENTATION)
def test_the_tables_of_experiment_1_are_those_of_the_run(
    name: str, made: Path, representation_run: Path
) -> None:
    written = pq.read_table(representation_run / f"{name}.parquet")
    found = pq.read_table(made / "representation" / f"{name}.parquet")
    assert found.to_pylist() == written.to_pylist(), "to the last bit"


@pytest.mark.parametrize("name", FORGETTING)
def test_the_tables_of_experiment_2_are_those_of_the_run(name: str, made: Path, forgetting_run: Path) -> None:
    assert_same(results.load(forgetting_run), name, made / f"{name}.parquet")


def test_the_figures_are_those_of_the_run(made: Path, forgetting_run: Path) -> None:
    drawn = {path.name: path.read_bytes() for path in (made / "figures").iterdir()}
    written = {path.name: path.read_bytes() for path in (forgetting_run / "figures").iterdir()}
    assert len(written) >= 12
    assert drawn == written


def test_every_table_of_an_analysis_is_in_the_notebook(forgetting_run: Path) -> None:
    """A table that the study's last stages come to make must be regenerated too."""
    analysed = {path.stem.split(".")[1] for path in (forgetting_run / "parts" / "analyse").glob("*.parquet")}
    assert analysed == set(FORGETTING)


def test_the_notebook_is_committed_without_outputs_or_paths_of_a_machine() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert "/home/" not in cell.source
        assert str(Path.home()) + "/" not in cell.source
