"""The forgetting study: Experiment 2, and the compression-quality frontier around it."""

from __future__ import annotations

from flows.study_flow import study_flow
from tasks.forgetting_study import ForgettingStudy

forgetting = study_flow(
    ForgettingStudy, "One persistent graph, what may be forgotten of it, and what that costs, against chance."
)
