"""A call's id is what its provider consumes, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.models.calls import Call

CALL = Call(
    "openai", "gpt-4o-mini", {"messages": [{"role": "user", "content": "héllo 😀"}], "temperature": 0.0}
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, provider="ollama"),
        replace(CALL, model="gpt-4o"),
        replace(CALL, attempt=1),
        replace(CALL, repeat=1),
        replace(CALL, payload={**CALL.payload, "temperature": 0.1}),
        replace(CALL, payload={**CALL.payload, "max_tokens": 5}),
        replace(CALL, payload={**CALL.payload, "messages": [{"role": "user", "content": "héllo 😁"}]}),
        replace(CALL, payload={**CALL.payload, "messages": [{"role": "system", "content": "héllo 😀"}]}),
    ],
)
def test_every_field_makes_another_id(other: Call) -> None:
    assert other.id != CALL.id


def test_the_id_of_a_call_never_changes_between_releases() -> None:
    assert CALL.id == "2b96a2cdf66b8a2dd0633ca3561b5198c9f4d83600272bce419a52d3ed9063a3"


@settings(deadline=None)
@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_the_order_of_keys_does_not_matter(payload: dict[str, object]) -> None:
    turned = dict(reversed(list(payload.items())))
    assert Call("p", "m", payload).id == Call("p", "m", turned).id


def test_composed_and_decomposed_letters_are_different_inputs() -> None:
    assert Call("p", "m", {"input": "\u00e9"}).id != Call("p", "m", {"input": "e\u0301"}).id


def test_numbers_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        Call("p", "m", {"temperature": float("nan")}).id  # noqa: B018
