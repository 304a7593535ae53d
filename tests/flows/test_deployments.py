"""`prefect.yaml`: every deployment names a flow that exists and a study that its form accepts."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from jsonschema.validators import Draft202012Validator
from prefect import Flow

from flows.association import association
from flows.forgetting import forgetting
from flows.ranking import ranking
from flows.representation import rejudge, representation
from flows.use_time import use_time
from memory.systems import names
from tasks.benchmarks import BENCHMARKS
from tasks.models.catalogue import BUNDLES
from tasks.prompts.judge import Judge
from tasks.study import AS_BENCHMARK

ROOT = Path(__file__).parents[2]
DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))[
    "deployments"
]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda d: f"{d['entrypoint']}-{d['name']}")
def test_a_deployment_can_be_started_with_its_parameters(deployment: dict[str, Any]) -> None:
    module, _, name = deployment["entrypoint"].rpartition(".")
    flow = getattr(importlib.import_module(module), name)
    assert isinstance(flow, Flow)
    parameters = deployment.get("parameters", {"run": "some/folder"})
    assert flow.validate_parameters(parameters)
    assert deployment["description"]
    assert deployment["tags"]
    assert deployment["work_pool"]["name"] == "palimpsest"
    assert deployment["concurrency_limit"]["limit"] == 1


def form_of(flow: Flow[..., Any]) -> dict[str, Any]:
    """What `prefect deploy` makes of a flow's parameters."""
    schema = flow.parameters.model_dump()
    Draft202012Validator.check_schema(schema)
    return schema


def test_the_form_of_a_study_explains_its_fields_and_offers_choices() -> None:
    schema = form_of(forgetting)
    study = schema["definitions"]["ForgettingStudy"]["properties"]
    assert study["order"]["enum"] == ["file", "time"]
    assert study["threshold"]["exclusiveMinimum"] == 0
    assert all(field.get("description") for name, field in study.items() if name != "study")


def test_benchmarks_systems_profiles_judges_and_bundles_are_choices() -> None:
    definitions = form_of(representation)["definitions"]
    study, condition = definitions["Study"]["properties"], definitions["Condition"]["properties"]
    assert study["benchmark"]["enum"] == list(BENCHMARKS)
    assert study["judge"]["enum"] == [AS_BENCHMARK, *get_args(Judge)]
    bundle, single = study["models"]["anyOf"]
    assert bundle["enum"] == list(BUNDLES)
    assert single == {"$ref": "#/definitions/ModelChoice"}
    assert condition["system"]["enum"] == list(names())
    assert condition["profile"]["enum"][:4] == ["published", "improved", "tuned", "arena"]
    assert {"query_intent", "no_forget", "no_qc"} <= set(condition["profile"]["enum"])


def test_bounds_stand_in_the_form_and_what_belongs_together_is_a_group() -> None:
    definitions = form_of(representation)["definitions"]
    study = definitions["Study"]["properties"]
    assert {"type": "integer", "minimum": 1} in study["limit"]["anyOf"]
    assert (study["resamples"]["minimum"], study["resamples"]["maximum"]) == (100, 1_000_000)
    groups = {name: field["$ref"].rpartition("/")[2] for name, field in study.items() if "$ref" in field}
    assert groups == {"budget": "Budget", "pace": "Ceilings"}
    for group in ("ModelChoice", "Condition", "Budget", "Ceilings"):
        assert all(field.get("description") for field in definitions[group]["properties"].values()), group


def test_parameters_are_explained_by_the_docstring_and_no_field_is_called_field() -> None:
    for flow in (representation, forgetting, association, use_time, ranking, rejudge):
        schema = form_of(flow)
        parameters = {name: field for name, field in schema["properties"].items() if name != "study"}
        assert all(field.get("description") for field in parameters.values())
    study = form_of(representation)["definitions"]["Study"]["properties"]
    assert all(field.get("title") or "$ref" in field for field in study.values())


def test_what_the_form_fills_in_is_a_study() -> None:
    """The UI sends every default that it has shown."""
    kinds = (
        (representation, "Study"),
        (forgetting, "ForgettingStudy"),
        (association, "AssociationStudy"),
        (use_time, "UseTimeStudy"),
        (ranking, "RankingStudy"),
    )
    for flow, name in kinds:
        fields = form_of(flow)["definitions"][name]["properties"]
        shown = {field: schema["default"] for field, schema in fields.items() if "default" in schema}
        assert len(shown) > 10
        assert flow.validate_parameters({"study": shown})["study"].benchmark == "sample"


def test_a_form_that_nobody_has_changed_lets_the_benchmark_choose_its_judge() -> None:
    fields = form_of(use_time)["definitions"]["UseTimeStudy"]["properties"]
    shown = {field: schema["default"] for field, schema in fields.items() if "default" in schema}
    assert shown["judge"] in fields["judge"]["enum"]
    for benchmark, judge in (("mab-fc", "substring"), ("lme-ku", "paper"), ("personamem-32k", "choice")):
        sent = {"study": {**shown, "benchmark": benchmark}}
        assert use_time.validate_parameters(sent)["study"].judge == judge
    named = {"study": {**shown, "benchmark": "mab-fc", "judge": "paper"}}
    assert use_time.validate_parameters(named)["study"].judge == "paper"
