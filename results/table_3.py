"""Table 3 of the Selective Forgetting paper: the free parameters of a study, and what each stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from results.paper_tables import PaperTable

_COLUMNS = {
    "condition": "string",
    "profile": "string",
    "parameter": "string",
    "value": "float64",
    "basis": "string",
    "paper_value": "float64",
    "paper_basis": "string",
}


def table_3(parameters: Sequence[Mapping[str, Any]]) -> PaperTable:
    """The table of parameters.

    Args:
        parameters: Rows with `condition`, `profile` (or none), `parameter`, `value`, `basis`, and `paper_value` and
            `paper_basis` (or none).
    """
    data = pd.DataFrame(parameters, columns=list(_COLUMNS)).astype(_COLUMNS)
    return PaperTable(
        name="table_3",
        caption="Parameters, values and basis of each condition with a graph, beside the paper's. A calibrated "
        "threshold belongs to the study's embedder.",
        data=data,
        header=("Condition", "Profile", "Parameter", "Value", "Basis", "Paper", "Basis in the paper"),
        rows=tuple(
            (
                row["condition"],
                row["profile"] or "–",
                row["parameter"],
                f"{row['value']:,g}",
                row["basis"],
                "–" if row["paper_value"] is None else f"{row['paper_value']:,g}",
                row["paper_basis"] or "–",
            )
            for row in parameters
        ),
    )
