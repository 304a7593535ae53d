"""`oracle`: shows exactly the evidence turns. What it misses, no retrieval could have found."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from memory.conversation import OracleQuery, Query
from memory.protocol import Recall, Source
from memory.systems.keeping import TurnKeeper, TurnSettings
from memory.systems.turns import RULE


class Oracle(TurnKeeper[TurnSettings]):
    """The upper bound of retrieval."""

    Settings: ClassVar[type[BaseModel]] = TurnSettings
    sees_evidence: ClassVar[bool] = True

    def recall(self, query: Query) -> Recall:
        """The evidence turns, in the order of the memory; those that the budget does not take are left out.

        Flags: `evidence_missing`, if some are not held; `trimmed`, if some are left out.

        Raises:
            TypeError: If the query comes without its evidence: a fault of the caller, not of the question.
        """
        if not isinstance(query, OracleQuery):
            raise TypeError("the oracle needs a query with its evidence")
        wanted = set(query.evidence)
        found = [held for held in self.turns if held.turn.id in wanted]
        taken = self.fitted(found, self.settings.budget_tokens)
        flags = {"evidence_missing": len(found) < len(wanted), "trimmed": len(taken) < len(found)}
        return Recall(
            context=RULE.join(self.shown(taken)),
            provenance=tuple(Source(held.turn.id, 1.0) for held in taken),
            items=len(taken),
            flags=tuple(name for name, up in flags.items() if up),
        )
