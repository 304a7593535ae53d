"""The use-time study: systems at equal token budgets, RD-Forget's ablations, and forgetting in storage beside."""

from __future__ import annotations

from flows.study_flow import study_flow
from tasks.use_time_study import UseTimeStudy

use_time = study_flow(
    UseTimeStudy, "Forgetting at use time against forgetting in storage, at equal token budgets."
)
