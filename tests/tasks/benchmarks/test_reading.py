import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.benchmarks.locomo import load as load_locomo
from tasks.benchmarks.longmemeval import load as load_longmemeval
from tasks.benchmarks.reading import rows, sha256
from tasks.benchmarks.validate import validate

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
in_place = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "neither a JSON array nor JSON lines"),
        ("   \n", "neither a JSON array nor JSON lines"),
        ("hello", "neither a JSON array nor JSON lines"),
        ('"text"', "neither a JSON array nor JSON lines"),
        ("[]", "holds no rows"),
        ("[1, 2", "row 3: not JSON"),
        ('[{"a": ', "row 1: not JSON"),
        ("[1] trailing", "row 2: not JSON"),
        ("[1e999]", "row 1: not JSON"),
        ('{"a": 1}\n{"a": ', "line 2: not JSON"),
        ('{"a":' * 100_000, "line 1: not JSON"),
        (b'["\xff"]', "row 1: not JSON"),
        (b'{"a": "\xff"}', "line 1: not JSON"),
        (b"\x1f\x8bnot gzip at all", "damaged or cut short"),
        (b"\x1f\x8b", "damaged or cut short"),
        (gzip.compress(json.dumps([{}] * 50_000).encode())[:-20], "damaged or cut short"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_in_one_line(written, content, message):
    path = written(content)
    with pytest.raises(BadInput, match=message) as caught:
        list(rows(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_gzip_file_with_a_flipped_byte_is_refused(written):
    raw = bytearray(gzip.compress(json.dumps(list(range(5_000))).encode()))
    raw[len(raw) // 2] ^= 0xFF
    path = written(bytes(raw))
    with pytest.raises(BadInput):
        list(rows(path))
    with pytest.raises(BadInput):
        sha256(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            list(rows(path))
        with pytest.raises(BadInput, match="cannot be read"):
            sha256(path)


def test_blank_lines_are_skipped_and_lines_keep_their_numbers(written):
    assert list(rows(written('{"a": 1}\n\n{"a": 2}\n'))) == [("line 1", {"a": 1}), ("line 3", {"a": 2})]


@in_place
@given(value=st.lists(st.dictionaries(st.text(max_size=3), st.integers(-9, 9) | st.text()), min_size=1))
def test_arrays_and_lines_hold_the_same_rows_zipped_or_not(written, value):
    value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    for name in ("a.json", "a.json.gz", "a.jsonl", "a.jsonl.gz"):
        assert [row for _, row in rows(written(value, name))] == value


@in_place
@given(value=any_json)
def test_json_of_any_other_shape_is_bad_input(written, value):
    path = written(value)
    for read in (load_longmemeval, lambda path: load_locomo(path, "locomo"), validate):
        with pytest.raises(BadInput):
            read(path)


@in_place
@given(data=st.data(), value=any_json)
def test_any_value_in_any_field_of_longmemeval_loads_or_is_bad_input(row, written, data, value):
    field = data.draw(st.sampled_from(sorted(row())))
    try:
        loaded = load_longmemeval(written([row(**{field: value})]))
    except BadInput as error:
        assert "\n" not in str(error)
    else:
        assert len(loaded.questions) == 1


@in_place
@given(data=st.data(), value=any_json)
def test_any_value_in_any_field_of_locomo_loads_or_is_bad_input(conversation, written, data, value):
    changed = conversation()
    part = data.draw(st.sampled_from([changed, changed["conversation"], changed["qa"][0]]))
    part[data.draw(st.sampled_from(sorted(part)))] = value
    try:
        loaded = load_locomo(written([changed]), "locomo")
    except BadInput as error:
        assert "\n" not in str(error)
    else:
        assert len(loaded.histories) == 1


@in_place
@given(cut=st.integers(0, 400))
def test_a_file_cut_anywhere_is_bad_input(row, written, cut):
    whole = json.dumps([row()])
    with pytest.raises(BadInput):
        load_longmemeval(written(whole[: min(cut, len(whole) - 1)]))


def test_a_file_of_brackets_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    for name, content in (("deep.json", "[" * 200_000), ("closed.json", "[" * 70 + "]" * 70)):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(BadInput, match="nested deeper than 64 levels"):
            list(rows(path))


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
def test_half_a_character_is_read_alike_in_arrays_and_in_lines(written, name):
    path = written([{"id": "half \ud83d x", "whole": "\U0001f600"}], name)
    assert [row for _, row in rows(path)] == [{"id": "half ? x", "whole": "\U0001f600"}]


def test_half_a_character_that_the_parser_of_arrays_refuses_is_said_to_be_one(written):
    with pytest.raises(BadInput, match=r"row 1: .*half of a character"):
        list(rows(written([{"id": "\udc00"}])))
