"""Downloads from a real local server that behaves well and badly."""

import hashlib
import re
from dataclasses import replace

import pytest
from werkzeug import Request, Response

from memory.errors import BadInput
from tasks.benchmarks import BENCHMARKS, find
from tasks.benchmarks import fetch as fetch_module
from tasks.benchmarks.fetch import ATTEMPTS, fetch

BODY = bytes(range(256)) * 4_000
DIGEST = hashlib.sha256(BODY).hexdigest()
FILE = "locomo10.json"


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch):
    monkeypatch.setitem(BENCHMARKS, "locomo", replace(BENCHMARKS["locomo"], sha256=DIGEST))
    monkeypatch.setattr(fetch_module, "WAIT_SECONDS", 0.0)


class Server:
    """Serves the file; `replies` are functions of the request that are used up before it behaves well."""

    def __init__(self, httpserver) -> None:
        self.url = httpserver.url_for("/data")
        self.replies = []
        self.ranges = []
        httpserver.expect_request(f"/data/{FILE}").respond_with_handler(self._reply)

    def _reply(self, request: Request) -> Response:
        self.ranges.append(request.headers.get("Range"))
        assert request.headers["Accept-Encoding"] == "identity"
        return self.replies.pop(0)(request) if self.replies else ranged(request)


def ranged(request: Request) -> Response:
    asked = re.fullmatch(r"bytes=([0-9]+)-", request.headers.get("Range", ""))
    if asked is None:
        return Response(BODY)
    start = int(asked[1])
    if start >= len(BODY):
        return Response(status=416, headers={"Content-Range": f"bytes */{len(BODY)}"})
    shown = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
    return Response(BODY[start:], status=206, headers={"Content-Range": shown})


def cut(request: Request) -> Response:
    """Promises the whole and hangs up after 300,000 bytes of what was asked for."""
    whole = ranged(request)
    body = whole.get_data()
    headers = {**whole.headers, "Content-Length": str(len(body))}
    return Response(iter([body[:300_000]]), status=whole.status, headers=headers)


@pytest.fixture
def server(httpserver):
    return Server(httpserver)


def test_a_whole_file_is_fetched_verified_and_found(server, tmp_path):
    seen = []
    fetched = fetch(
        "locomo",
        tmp_path / "new",
        base_url=server.url,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert fetched.downloaded
    assert fetched.sha256 == DIGEST
    assert fetched.path == find("locomo", tmp_path / "new")
    assert fetched.path.read_bytes() == BODY
    assert [path.name for path in fetched.path.parent.iterdir()] == [FILE]
    assert seen[-1] == (len(BODY), len(BODY))
    assert seen == sorted(seen)


def test_a_good_file_that_is_there_asks_nothing_of_the_server(server, tmp_path):
    (tmp_path / FILE).write_bytes(BODY)
    fetched = fetch("locomo", tmp_path, base_url=server.url)
    assert not fetched.downloaded
    assert server.ranges == []


def test_another_file_under_the_name_is_not_overwritten(server, tmp_path):
    (tmp_path / FILE).write_bytes(b"mine")
    with pytest.raises(BadInput, match="move it away"):
        fetch("locomo", tmp_path, base_url=server.url)
    assert (tmp_path / FILE).read_bytes() == b"mine"
    assert server.ranges == []


def test_a_partial_file_is_resumed_where_it_ends(server, tmp_path):
    (tmp_path / f"{FILE}.part").write_bytes(BODY[:1_000])
    seen = []
    fetched = fetch("locomo", tmp_path, base_url=server.url, progress=lambda done, _: seen.append(done))
    assert server.ranges == ["bytes=1000-"]
    assert fetched.path.read_bytes() == BODY
    assert seen[0] > 1_000
    assert seen[-1] == len(BODY)


def test_a_server_that_ignores_ranges_makes_the_file_start_anew(server, tmp_path):
    (tmp_path / f"{FILE}.part").write_bytes(b"stale" * 100)
    server.replies = [lambda request: Response(BODY)]
    assert fetch("locomo", tmp_path, base_url=server.url).path.read_bytes() == BODY


def test_a_complete_partial_file_needs_no_byte_more(server, tmp_path):
    (tmp_path / f"{FILE}.part").write_bytes(BODY)
    assert fetch("locomo", tmp_path, base_url=server.url).path.read_bytes() == BODY
    assert server.ranges == [f"bytes={len(BODY)}-"]


def test_a_partial_file_longer_than_the_servers_starts_anew(server, tmp_path):
    (tmp_path / f"{FILE}.part").write_bytes(BODY + b"more")
    assert fetch("locomo", tmp_path, base_url=server.url).path.read_bytes() == BODY
    assert server.ranges == [f"bytes={len(BODY) + 4}-", None]


def test_a_reply_for_another_range_starts_anew(server, tmp_path):
    (tmp_path / f"{FILE}.part").write_bytes(BODY[:1_000])
    server.replies = [
        lambda request: Response(BODY[5:], status=206, headers={"Content-Range": f"bytes 5-9/{len(BODY)}"})
    ]
    assert fetch("locomo", tmp_path, base_url=server.url).path.read_bytes() == BODY


def test_a_connection_that_breaks_is_resumed_in_the_same_call(server, tmp_path):
    server.replies = [cut, cut]
    assert fetch("locomo", tmp_path, base_url=server.url).path.read_bytes() == BODY
    assert server.ranges[0] is None
    assert len(server.ranges) == 3
    assert all(asked and asked != "bytes=0-" for asked in server.ranges[1:])


def test_faults_that_may_pass_are_tried_again_a_bounded_number_of_times(server, tmp_path):
    busy = [
        lambda request: Response(status=429, headers={"Retry-After": "0"}),
        lambda request: Response(status=503),
    ]
    server.replies = list(busy)
    assert fetch("locomo", tmp_path, base_url=server.url).downloaded
    (tmp_path / FILE).unlink()
    server.ranges.clear()
    server.replies = [busy[1]] * 20
    with pytest.raises(BadInput, match=rf"{ATTEMPTS} attempts failed, the last one with: HTTP 503"):
        fetch("locomo", tmp_path, base_url=server.url)
    assert len(server.ranges) == ATTEMPTS


def test_what_was_downloaded_before_the_attempts_ran_out_is_kept_for_the_next_call(server, tmp_path):
    server.replies = [cut, *[lambda request: Response(status=500)] * (ATTEMPTS - 1)]
    with pytest.raises(BadInput, match="fetch again to resume"):
        fetch("locomo", tmp_path, base_url=server.url)
    assert 0 < (tmp_path / f"{FILE}.part").stat().st_size < len(BODY)
    assert not (tmp_path / FILE).exists()
    assert fetch("locomo", tmp_path, base_url=server.url).path.read_bytes() == BODY


def test_a_wrong_hash_leaves_nothing_behind(server, tmp_path):
    server.replies = [lambda request: Response(BODY + b"!")]
    with pytest.raises(BadInput, match=f"not {DIGEST} as published"):
        fetch("locomo", tmp_path, base_url=server.url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_final(server, tmp_path, status):
    server.replies = [lambda request: Response(status=status)]
    with pytest.raises(BadInput, match=f"HTTP {status}; check the address"):
        fetch("locomo", tmp_path, base_url=server.url)
    assert len(server.ranges) == 1


def test_a_file_without_a_known_hash_reports_the_one_it_has(server, tmp_path, monkeypatch):
    monkeypatch.setitem(BENCHMARKS, "locomo", replace(BENCHMARKS["locomo"], sha256=None))
    assert fetch("locomo", tmp_path, base_url=server.url).sha256 == DIGEST


@pytest.mark.parametrize("name", ["sample", "no-such-benchmark"])
def test_what_has_no_upstream_cannot_be_fetched(tmp_path, name):
    with pytest.raises(BadInput, match="nothing to download; choose one of longmemeval-oracle"):
        fetch(name, tmp_path)


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"^http://127.0.0.1:1/locomo10.json: 5 attempts failed"):
        fetch("locomo", tmp_path, base_url="http://127.0.0.1:1")


@pytest.mark.parametrize("address", ["ftp://example.org", "no address", "http://"])
def test_an_address_that_is_none_is_refused(tmp_path, address):
    with pytest.raises(BadInput, match="cannot be fetched"):
        fetch("locomo", tmp_path, base_url=address)


def test_a_redirect_is_followed_with_the_range(server, httpserver, tmp_path):
    httpserver.expect_request(f"/moved/{FILE}").respond_with_response(
        Response(status=302, headers={"Location": f"{server.url}/{FILE}"})
    )
    (tmp_path / f"{FILE}.part").write_bytes(BODY[:1_000])
    fetched = fetch("locomo", tmp_path, base_url=httpserver.url_for("/moved"))
    assert fetched.path.read_bytes() == BODY
    assert server.ranges == ["bytes=1000-"]


def test_a_folder_that_cannot_be_made_is_refused(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be written"):
        fetch("locomo", tmp_path / "file" / "folder", base_url=server.url)


def test_published_addresses_name_files_that_loading_finds(tmp_path):
    for name, benchmark in BENCHMARKS.items():
        if benchmark.upstream:
            path = tmp_path / benchmark.upstream.rsplit("/", 1)[1]
            path.touch()
            assert find(name, tmp_path) == path
