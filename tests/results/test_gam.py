"""GAM's ablations beside what is reported of them."""

from __future__ import annotations

import pandas as pd
import pytest

from memory.systems.gam import Gam
from results.gam import REPORTED_F1, gam_ablations

METRICS = pd.DataFrame(
    {
        "condition": ["gam", "gam", "bare", "bare", "mine", "flat"],
        "f1": [0.5, 0.25, 0.5, None, 0.1, 1.0],
        "turn_recall_5": [1.0, 0.0, 0.5, 0.5, None, 1.0],
        "turn_recall_10": [1.0, 0.5, 0.5, 0.5, None, 1.0],
        "context_tokens": [1400, 1401, 500, 600, 7, 9],
    }
)
PROFILES = {"mine": "improved", "bare": "no_event_graph", "gam": "published"}


def test_every_ablation_that_is_reported_is_a_profile() -> None:
    assert set(REPORTED_F1) == set(Gam.profiles) - {"improved"}


def test_the_rows_are_those_of_gam_the_whole_system_first_with_means_over_what_is_there() -> None:
    table = gam_ablations(METRICS, PROFILES)
    assert table.data["condition"].tolist() == ["gam", "bare", "mine"]
    assert table.data["f1"].tolist() == pytest.approx([0.375, 0.5, 0.1])
    assert table.data["context_tokens"].tolist() == pytest.approx([1400.5, 550, 7])


def test_what_is_reported_stands_beside_and_nothing_where_nothing_is() -> None:
    rows = gam_ablations(METRICS, PROFILES).rows
    assert [row[-2:] for row in rows] == [("0.400", "1,370"), ("0.251", "–"), ("–", "–")]
    assert rows[2][3] == "–"
    assert "third parties" in gam_ablations(METRICS, PROFILES).markdown()
