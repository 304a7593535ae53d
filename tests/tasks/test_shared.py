"""What machines share: whole or absent, checked by its hash before it is used, and never a place for a key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from memory.errors import BadInput
from tasks.kinds import make_study
from tasks.models import shared_ledger
from tasks.models.ledger import Entry, Ledger
from tasks.models.shared_calls import SharedCalls
from tasks.models.store import Store
from tasks.shared import Location, Shared
from tasks.stage import Made, Stage, Work, perform

ID = "ab" * 32
CALL = Entry("run", "answer", "flat", ID, "openai", "m", "m", "answer", 0, 0, "paid", flags=("input_cut",))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "shared").as_uri()


def test_a_reply_and_a_vector_that_one_machine_has_bought_are_there_for_another(
    tmp_path: Path, url: str
) -> None:
    one, two = (Store(tmp_path / name, SharedCalls(Location(url))) for name in ("one", "two"))
    one.keep_replies({ID: {"text": "yes"}})
    one.keep_vectors([ID], np.ones((1, 3), np.float32))
    assert two.reply(ID) == {"text": "yes"}
    vector_id = "cd" * 32
    one.keep_vectors([vector_id], np.ones((1, 3), np.float32))
    assert two.vectors([vector_id])[vector_id].tolist() == [1.0, 1.0, 1.0]
    alone = Store(tmp_path / "two")
    assert alone.reply(ID) == {"text": "yes"}, "it is kept on the other machine, too"
    for store in (one, two, alone):
        store.close()


@pytest.mark.parametrize("forged", [b'{"text":"no"}', b"\x80\x04N.", b"", b"\xff{}"])
def test_a_shared_reply_that_was_altered_counts_as_not_there(tmp_path: Path, url: str, forged: bytes) -> None:
    Location(url).put({f"calls/replies/ab/{ID}": forged})
    store = Store(tmp_path / "one", SharedCalls(Location(url)))
    assert store.reply(ID) is None
    store.close()


def work(run: Path, url: str) -> Work:
    return Work(
        run=str(run),
        store=str(run),
        stage="s",
        batch="a",
        version=1,
        params={},
        shared=Shared(url=url, run="r"),
    )


def test_a_part_that_one_machine_has_made_is_found_by_another_unless_it_was_altered(
    tmp_path: Path, url: str
) -> None:
    made: list[str] = []

    def make(each: Work) -> Made:
        made.append(each.run)
        return Made({"t": pa.table({"x": [1, 2]})}, {"ok": 2})

    stage = Stage("s", 1, make)
    first = perform(stage, work(tmp_path / "one", url))
    assert perform(stage, work(tmp_path / "two", url)) == first
    assert made == [str(tmp_path / "one")]
    [ref] = first.files.values()
    [file] = (tmp_path / "shared/runs/r/objects").rglob(ref.sha256)
    file.write_bytes(b"x" * ref.bytes)
    assert perform(stage, work(tmp_path / "three", url)) == first
    assert made == [str(tmp_path / "one"), str(tmp_path / "three")]


def test_rows_of_the_ledger_reach_another_machine_once_however_often_they_are_sent_and_gathered(
    tmp_path: Path, url: str
) -> None:
    shared = Shared(url=url, run="run")
    one, two = Ledger(tmp_path / "one"), Ledger(tmp_path / "two")
    one.enter([CALL])
    shared_ledger.send(one, shared)
    shared_ledger.gather(two, shared)
    one.enter([CALL, CALL])
    two.enter([CALL])
    for _ in range(2):
        for ledger in (one, two):
            shared_ledger.send(ledger, shared)
        for ledger in (one, two):
            shared_ledger.gather(ledger, shared)
    assert one.rows_by_process() == two.rows_by_process()
    assert one.totals("run").paid == two.totals("run").paid == 4
    assert two.spent("run").calls == 4
    assert set(two.rows("run")["flags"].to_pylist()) == {"input_cut"}
    one.close()
    two.close()


def test_a_shared_ledger_part_that_was_altered_is_passed_over(tmp_path: Path, url: str) -> None:
    shared = Shared(url=url, run="run")
    one, two = Ledger(tmp_path / "one"), Ledger(tmp_path / "two")
    one.enter([CALL])
    shared_ledger.send(one, shared)
    [part] = (tmp_path / "shared/runs/run/ledger").iterdir()
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    shared_ledger.gather(two, shared)
    assert two.totals("run").paid == 0
    one.close()
    two.close()


@pytest.mark.parametrize("url", ["s3://key:secret@bucket/x", "s3://bucket/x?secret=k"])
def test_a_url_with_a_key_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(BadInput, match="a key has no place in a URL") as refused:
        make_study({"shared": url})
    assert "secret" not in str(refused.value)


def test_a_location_of_an_unknown_kind_is_one_clear_line() -> None:
    with pytest.raises(BadInput, match="--shared nowhere://x: "):
        Location("nowhere://x")


def test_where_machines_share_and_which_runner_works_is_not_part_of_what_a_run_is() -> None:
    plain, elsewhere = make_study({}), make_study({"runner": "dask", "shared": "s3://bucket/x"})
    assert plain.run_name("0") == elsewhere.run_name("0")
