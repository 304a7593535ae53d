"""The association study: GAAMA, its variants and baselines, and what its graph of concepts is worth."""

from __future__ import annotations

from flows.study_flow import study_flow
from tasks.association_study import AssociationStudy

association = study_flow(
    AssociationStudy, "Concept-mediated memory against tuned RAG: rewards, and evidence by words of context."
)
