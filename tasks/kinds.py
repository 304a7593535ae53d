"""The kinds of study, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from memory.errors import BadInput
from results.rendering import plain
from tasks.association_study import AssociationStudy
from tasks.forgetting_study import ForgettingStudy
from tasks.ranking_study import RankingStudy
from tasks.study import Study
from tasks.use_time_study import UseTimeStudy

KINDS: dict[str, type[Study]] = {
    "representation": Study,
    "forgetting": ForgettingStudy,
    "association": AssociationStudy,
    "use-time": UseTimeStudy,
    "ranking": RankingStudy,
}


def kind_of(fields: Mapping[str, Any]) -> type[Study]:
    """The class of a study's fields.

    Raises:
        BadInput: If there is no such kind.
    """
    name = fields.get("study", "representation")
    if not isinstance(name, str) or name not in KINDS:
        raise BadInput(f"study {name!r}: unknown; choose one of {', '.join(KINDS)}")
    return KINDS[name]


def make_study(fields: dict[str, Any], source: str = "") -> Study:
    """A study whose arms can be resolved.

    Args:
        fields: The study's own.
        source: What the message of a fault begins with, such as `study.toml: `.

    Raises:
        BadInput: Naming the first field that is wrong.
    """
    try:
        study = kind_of(fields)(**fields)
        for condition in study.arms():
            study.arm(condition)
    except ValidationError as error:
        raise BadInput(f"{source}{plain(_fault(error))}") from error
    except BadInput as error:
        raise BadInput(f"{source}{plain(str(error))}") from error
    return study


def _fault(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "study"
    if first["type"] == "extra_forbidden":
        return f"{where}: no such field; see README.md for a study's fields"
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"
