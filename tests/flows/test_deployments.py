"""`prefect.yaml`: every deployment names a flow that exists and a study that its form accepts."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import Flow

ROOT = Path(__file__).parents[2]
DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))[
    "deployments"
]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda d: f"{d['entrypoint']}-{d['name']}")
def test_a_deployment_can_be_started_with_its_parameters(deployment: dict[str, Any]) -> None:
    path, _, name = deployment["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), name)
    assert isinstance(flow, Flow)
    parameters = deployment.get("parameters", {"run": "some/folder"})
    assert flow.validate_parameters(parameters)
    assert deployment["description"]
    assert deployment["work_pool"]["name"] == "palimpsest"


def test_the_form_of_a_study_explains_its_fields_and_offers_choices() -> None:
    from flows.forgetting import forgetting

    schema = forgetting.parameters.model_dump()
    study = schema["definitions"]["ForgettingStudy"]["properties"]
    assert study["order"]["enum"] == ["file", "time"]
    assert study["threshold"]["exclusiveMinimum"] == 0
    assert all(field.get("description") for name, field in study.items() if name != "study")
