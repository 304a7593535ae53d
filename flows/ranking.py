"""The ranking study: where memories rank the evidence of questions, with no answer and no verdict."""

from __future__ import annotations

from flows.study_flow import study_flow
from tasks.ranking_study import RankingStudy

ranking = study_flow(
    RankingStudy,
    "How well memories rank the evidence of questions: quality, latency and bytes; no model answers.",
)
