import pytest

from memory.errors import BadInput
from tasks.benchmarks import find
from tasks.benchmarks.validate import validate


def test_longmemeval_is_recognised_and_counted(row, written):
    report = validate(written([row("q1"), row("q2_abs", haystack_sessions=[[], []])], "some-name.jsonl.gz"))
    assert report.benchmark == "longmemeval-s"
    assert report.questions == {"single-session-user": 2}
    assert (report.abstention, report.histories, report.sessions, report.turns) == (1, 2, 4, 3)
    assert (report.evidence_turns, report.without_evidence, report.unresolved_evidence) == (1, 1, 0)
    assert "sessions without turns: 2" in report.notes


def test_sessions_and_turns_that_recur_are_counted_once_as_distinct(row, written):
    report = validate(written([row("q1"), row("q2")]))
    assert (report.sessions, report.distinct_sessions) == (4, 2)
    assert (report.turns, report.distinct_turns) == (6, 3)


def test_locomo_is_recognised_and_counted(conversation, written):
    report = validate(written([conversation()]))
    assert (report.benchmark, report.questions) == ("locomo", {"single-hop": 1})
    assert (report.histories, report.sessions, report.turns) == (1, 2, 4)


def test_the_report_reads_one_fact_a_line():
    lines = str(validate(find("sample", None))).splitlines()
    assert lines[0] == "benchmark   sample (built-in sample, version 1)"
    assert lines[2].startswith("questions   12: single-session-user 3,")
    assert lines[5:7] == ["sessions    53 (47 distinct)", "turns       318 (282 distinct)"]


@pytest.mark.parametrize("content", [[{"a": 1}], [1], [[]], [None]])
def test_a_file_of_no_benchmark_is_refused(written, content):
    with pytest.raises(BadInput, match="neither LongMemEval"):
        validate(written(content))


def test_the_real_files_are_recognised(data):
    oracle = validate(data / "longmemeval_oracle.json.gz")
    assert (oracle.benchmark, oracle.sessions, oracle.distinct_sessions) == ("longmemeval-oracle", 948, 940)
    assert (oracle.turns, oracle.distinct_turns) == (10_960, 9_752)
    locomo = validate(data / "locomo10.json.gz")
    assert (locomo.benchmark, locomo.sessions, locomo.distinct_sessions) == ("locomo", 272, 272)
