from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.conversation import History, Question, Session, Turn, turn_id
from tasks.ranking_stores import can_be_ranked, cut, together, whole

START = datetime(2024, 1, 1, tzinfo=UTC)


def session(history: str, position: int, name: str, *texts: str) -> Session:
    turns = tuple(Turn(turn_id(history, position, n), "user", "user", text) for n, text in enumerate(texts))
    return Session(name, history, position, START + timedelta(days=position), turns)


def history(name: str, sessions: int, turns: int = 4) -> History:
    texts = [f"{name} {number}" for number in range(turns)]
    return History(name, tuple(session(name, p, f"{name}-{p}", *texts) for p in range(sessions)))


def question(of: str, *positions: int) -> Question:
    turns = tuple(turn_id(of, position, 1) for position in positions)
    return Question(f"q-{of}", of, "t", "what?", "that", evidence=turns, evidence_sessions=positions)


def test_a_history_that_several_questions_share_is_one_store() -> None:
    histories = {"h": history("h", 3), "i": history("i", 2), "unasked": history("unasked", 1)}
    asked = [question("h", 1), replace(question("h", 2), id="q2"), question("i", 0)]
    stores = list(whole(histories, asked))
    assert [store.history.id for store in stores] == ["h", "i"]
    assert [asked.sessions for asked in stores[0].asked] == [{"h#1"}, {"h#2"}]


@given(st.integers(2, 12), st.sets(st.integers(0, 11), min_size=1, max_size=3), st.integers(0, 5))
def test_smaller_stores_keep_the_evidence_lie_inside_larger_ones_and_stop_when_they_are_full(
    sessions: int, evidence: set[int], seed: int
) -> None:
    evidence = {position % sessions for position in evidence}
    asked = question("h", *sorted(evidence))
    stores = list(cut({"h": history("h", sessions)}, [asked], [5, 12, 30], seed))
    assert [store.size for store in stores] == [size for size in (5, 12, 30) if size < 4 * sessions]
    before: set[int] = set()
    for store in stores:
        positions = [s.position for s in store.history.sessions]
        assert positions == sorted(positions), "the order of the file stays"
        assert evidence | before <= set(positions)
        others = len(positions) - len(evidence)
        assert store.size is not None
        assert others == 0 or 4 * (len(positions) - 1) < store.size, "the last one was still wanted"
        assert 4 * len(positions) >= min(store.size, 4 * sessions)
        before = set(positions)


def test_the_lot_of_a_smaller_store_is_drawn_anew_with_another_seed() -> None:
    drawn = {
        tuple(s.position for s in store.history.sessions)
        for seed in range(8)
        for store in cut({"h": history("h", 12)}, [question("h", 3)], [12], seed)
    }
    assert len(drawn) > 1


def test_equal_sessions_stand_once_in_the_one_store_and_evidence_as_its_own_question_dates_it() -> None:
    shared = ("shared", "one", "two")
    first = History("a", (session("a", 0, *shared), session("a", 1, "own-a", "x", "y")))
    second = History("b", (session("b", 0, "own-b", "z", "w"), session("b", 1, *shared)))
    asked = question("b", 1)
    store = together({"a": first, "b": second}, [asked])
    assert [(s.history, s.position) for s in store.history.sessions] == [("a", 1), ("b", 0), ("b", 1)]
    assert store.asked[0].turns == {"b#1.1"}


def test_evidence_of_two_questions_in_equal_sessions_is_named_by_the_turns_that_stand_there() -> None:
    shared = ("shared", "one", "two")
    histories = {
        "a": History("a", (session("a", 0, *shared),)),
        "b": History("b", (session("b", 0, *shared),)),
    }
    store = together(histories, [question("a", 0), question("b", 0)])
    assert len(store.history.sessions) == 1
    assert [asked.turns for asked in store.asked] == [{"a#0.1"}, {"a#0.1"}]
    assert [asked.sessions for asked in store.asked] == [{"a#0"}, {"a#0"}]


def test_sessions_of_one_id_and_other_words_are_not_equal() -> None:
    one, other = session("a", 0, "same", "x"), session("b", 0, "same", "another")
    store = together({"a": History("a", (one,)), "b": History("b", (other,))}, [question("a", 0)])
    assert len(store.history.sessions) == 2


def test_only_questions_with_evidence_to_find_are_ranked() -> None:
    asked = question("h", 0)
    assert can_be_ranked(asked)
    assert can_be_ranked(replace(asked, evidence=()))
    assert can_be_ranked(replace(asked, evidence_sessions=()))
    assert not can_be_ranked(replace(asked, evidence=(), evidence_sessions=()))
    assert not can_be_ranked(replace(asked, abstention=True)), "whatever evidence it names"
