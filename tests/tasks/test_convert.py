"""Exports of chats become one's own conversations: what is taken over, and that what is not is counted."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.benchmarks import load
from tasks.convert import convert


@pytest.fixture
def converted(tmp_path):
    """What becomes of an export: the conversion, and the sessions that benchmark `own` reads of it, by history."""

    def run(export, name="export", **options):
        path = tmp_path / name
        path.write_bytes(export if isinstance(export, bytes) else export.encode())
        made = convert(path, tmp_path / "own", **options)
        return made, sessions_of(tmp_path / "own")

    return run


def sessions_of(folder):
    return {
        name: {s.id: [(turn.speaker, turn.text) for turn in s.turns] for s in history.sessions}
        for name, history in load("own", folder).histories.items()
    }


HELLO = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I am Ann."},
    {"role": "assistant", "content": "Hello Ann."},
]
SAID = [("user", "I am Ann."), ("assistant", "Hello Ann.")]


@pytest.mark.parametrize(
    "export",
    [
        json.dumps(HELLO),
        "\n".join(map(json.dumps, HELLO)),
        json.dumps({"messages": HELLO}),
        json.dumps({"messages": HELLO}, indent=2),
        json.dumps([{"messages": HELLO}]),
        "\ufeff" + json.dumps([{"messages": HELLO}]),
    ],
)
def test_a_list_of_messages_is_read_in_each_of_its_forms(converted, export):
    made, told = converted(export)
    assert told == {"own": {"1": SAID}}
    assert (made.form, made.lines, made.left_out) == ("lists of messages", 2, {"system messages": 1})
    assert str(made).endswith(
        "2 turns in 1 sessions of 1 histories, read from lists of messages; left out: system messages (1)"
    )


def test_what_is_no_text_is_left_out_and_counted(converted):
    messages = [
        {
            "role": "user",
            "name": "Ann",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "https://a.example"}},
                {"type": "input_audio", "input_audio": {}},
                {"type": "text", "text": "a dog"},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]},
        {"role": "tool", "content": [{"type": "image_url"}], "tool_call_id": "1"},
        {"role": "assistant", "content": "Nice", "refusal": None, "weight": 1},
    ]
    made, told = converted(json.dumps({"messages": messages, "model": "m", "tools": []}))
    assert told == {"own": {"1": [("Ann", "Look\na dog"), ("assistant", "Nice")]}}
    assert made.left_out == {
        "field 'model'": 1,
        "field 'tools'": 1,
        "images": 1,
        "parts of type 'input_audio'": 1,
        "tool calls": 2,
        "messages without text": 1,
        "field 'tool_call_id'": 1,
        "tool messages": 1,
        "field 'weight'": 1,
    }


def test_conversations_are_sessions_of_one_history_in_order_of_time_or_histories(tmp_path, converted):
    chats = [
        {"id": "late", "created_at": "2024-05-02", "messages": HELLO},
        {"id": "early", "create_time": 1714550400.5, "messages": [{"role": "user", "content": "First"}]},
        {"id": "late", "date": "2024-05-03", "messages": HELLO},
    ]
    _, told = converted(json.dumps(chats))
    assert told == {"own": {"early": [("user", "First")], "late": SAID, "late (3)": SAID}}
    dates = [
        session.date.date().isoformat() for session in load("own", tmp_path / "own").histories["own"].sessions
    ]
    assert dates == ["2024-05-01", "2024-05-02", "2024-05-03"]
    made = convert(tmp_path / "export", tmp_path / "apart", separate=True)
    assert (made.histories, made.sessions) == (3, 3)
    assert list(sessions_of(tmp_path / "apart")) == ["early", "late", "late (3)"]


def chatgpt(mapping, last, **more):
    return json.dumps(
        [{"conversation_id": "c", "create_time": 1.7e9, "mapping": mapping, "current_node": last, **more}]
    )


def node(parent, role, *parts, kind="text", **more):
    content = {"content_type": kind, "parts": list(parts)}
    return {
        "parent": parent,
        "message": {"author": {"role": role}, "content": content, "create_time": 1.7e9, **more},
    }


def test_the_branch_that_chatgpt_showed_last_is_kept(converted):
    mapping = {
        "root": {"parent": None, "message": None},
        "sys": node("root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        "ask": node(
            "sys", "user", {"content_type": "image_asset_pointer"}, "I am Ann.", kind="multimodal_text"
        ),
        "old": node("ask", "assistant", "Hi."),
        "code": node("ask", "assistant", "search()", kind="code"),
        "call": node("code", "assistant", "search()", recipient="browser"),
        "tool": node("call", "tool", "42"),
        "new": node("tool", "assistant", "Hello Ann."),
    }
    made, told = converted(chatgpt(mapping, "new", title="Ann"))
    assert told == {"own": {"c": SAID}}
    assert made.form == "ChatGPT's export"
    assert made.left_out == {
        "hidden messages": 1,
        "images": 1,
        "messages of type 'code'": 1,
        "tool calls": 1,
        "tool messages": 1,
        "messages of branches that were left": 1,
    }


def test_a_table_has_its_columns_in_any_order_and_case(converted):
    export = (
        "Text;SPEAKER;date;mood;session;conversation\r\n"
        '"I moved; to Ghent";Ann;2024-05-01;happy;s1;a\r\n'
        '"Two\nlines";Bob;;;s1;a\r\n'
        ";Ann;;;s1;a\r\n"
        "\r\n"
        "Hi;Cy;;;;b\r\n"
    )
    made, told = converted("\ufeff" + export)
    assert told == {
        "a": {"s1": [("Ann", "I moved; to Ghent"), ("Bob", "Two\nlines")]},
        "b": {"1": [("Cy", "Hi")]},
    }
    assert (made.form, made.left_out) == (
        "a table divided by ';'",
        {"column 'mood'": 1, "rows without text": 1},
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(converted, delimiter):
    made, told = converted(f"speaker{delimiter}text\nAnn{delimiter}I moved\n")
    assert told == {"own": {"1": [("Ann", "I moved")]}}
    assert made.form == f"a table divided by {delimiter!r}"


def test_a_cell_may_be_longer_than_the_library_allows_at_first(converted):
    limit = csv.field_size_limit()
    _, told = converted(f"speaker,text\nAnn,{'x' * 300_000}\n")
    assert len(told["own"]["1"][0][1]) == 300_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("export", "fault"),
    [
        ("", "line 1: no header with the columns speaker and text"),
        ("who,what\nAnn,Hi\n", "line 1: no header with the columns speaker and text, each once: 'who, what'"),
        ("speaker,text,Text\nAnn,Hi,Ho\n", "line 1: no header"),
        ("speaker,text\nAnn,Hi,Ho\n", "line 2: 3 fields under 2 columns; quote what holds the delimiter"),
        ('speaker,text\nAnn,"Hi\n', "line 2: no row of a table (unexpected end of data)"),
        ("speaker,text,date\nAnn,Hi,May\n", "line 2: date: 'May' is not a date"),
        ("speaker,text\n ,Hi\n", "line 2: neither speaker nor role; say who speaks"),
        ("speaker,text\nAnn,\n", "holds no turn of a user or an assistant with text (left out: rows without text)"),
        (b"speaker,text\nAnn,\xff\n", "byte 18: no UTF-8"),
        ("speaker,text,session\nA,a,1\nA,b,2\nA,c,1\n", "line 4: session '1' goes on after another"),
        ("[]", "holds no rows; give messages with role and content"),
        ("[1]", "row 1: no chat; give messages"),
        ('[{"a": 1}]', "row 1: no chat; give messages"),
        ('[{"role": "user", "content": "a"}, {"messages": []}]', "row 2: not of the form of the rows before"),
        ('{"messages": 1}', "line 1: messages: not a list"),
        ('{"messages": [{"content": "a"}]}', "line 1: messages.0: a message has a role and content"),
        ('[{"role": "user", "content": 1}]', "row 1: content: neither text nor a list of parts"),
        ('[{"role": "user", "content": "a", "date": "May"}]', "row 1: date: 'May' is not a date"),
        ('[{"role": "user", "content": "a", "date": 1714550400000}]', "row 1: date: "),
        ('[{"role": "user", "content": "a", "date": 1e300}]', "row 1: date: "),
        ('{"messages": [', "line 1: not JSON"),
        (chatgpt({"a": node("a", "user", "x")}, "a"), "row 1: mapping: 'a' is no node, or its own ancestor"),
        (chatgpt({"a": node("b", "user", "x")}, "a"), "row 1: mapping: 'b' is no node"),
        (chatgpt({"a": node(None, "user", "x")}, None), "row 1: current_node: missing"),
        (chatgpt({"a": {"message": {"author": 1}}}, "a"), "row 1: mapping.'a': a message has an author with a role"),
        (json.dumps([{"mapping": []}]), "row 1: mapping: not an object"),
    ],
)  # fmt: skip
def test_an_export_that_cannot_be_used_is_told_with_its_place_and_nothing_is_written(
    tmp_path, converted, export, fault
):
    with pytest.raises(BadInput) as refused:
        converted(export)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "export"))
    assert not (tmp_path / "own").exists()


def test_conversations_that_are_there_are_not_written_over(tmp_path, converted):
    converted(json.dumps(HELLO))
    before = (tmp_path / "own" / "turns.jsonl").read_bytes()
    with pytest.raises(BadInput, match=r"turns.jsonl is there already; name another folder with --to"):
        converted(json.dumps(HELLO[:2]))
    assert (tmp_path / "own" / "turns.jsonl").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "export").write_text(json.dumps(HELLO))
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be written"):
        convert(tmp_path / "export", tmp_path / "file" / "own")


texts = st.text(min_size=1, max_size=30).filter(str.strip)
cells = texts.map(lambda text: text.replace("\0", "?"))  # csv reads no NUL
spoken = st.lists(st.tuples(cells, cells), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(said=spoken, delimiter=st.sampled_from(",;\t|"))
def test_a_table_comes_back_as_it_was_written(tmp_path_factory, said, delimiter):
    folder = tmp_path_factory.mktemp("csv")
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows([("speaker", "text"), *said])
    (folder / "t.csv").write_bytes(buffer.getvalue().encode())
    convert(folder / "t.csv", folder / "own")
    assert sessions_of(folder / "own") == {"own": {"1": said}}


@settings(max_examples=40, deadline=None)
@given(said=st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), min_size=1, max_size=6))
def test_messages_come_back_as_they_were_written(tmp_path_factory, said):
    folder = tmp_path_factory.mktemp("json")
    messages = [{"role": role, "content": text} for role, text in said]
    (folder / "m.json").write_text(json.dumps(messages))
    convert(folder / "m.json", folder / "own")
    assert sessions_of(folder / "own") == {"own": {"1": said}}


KEYS = (
    "messages",
    "role",
    "content",
    "mapping",
    "current_node",
    "parent",
    "message",
    "author",
    "parts",
    "type",
    "text",
)
FIELDS = ("tool_calls", "function_call", "name", "date", "id", "metadata", "content_type", "recipient")
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["user", "text"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS + FIELDS), inner, max_size=5)
    ),
    max_leaves=12,
)
message = st.fixed_dictionaries(
    {"role": st.just("user"), "content": st.just("a") | json_values},
    optional=dict.fromkeys(FIELDS, json_values),
)
exported = st.fixed_dictionaries(
    {"author": st.just({"role": "user"}), "content": st.just({"content_type": "text", "parts": ["a"]})},
    optional=dict.fromkeys(FIELDS, json_values),
).map(lambda said: [{"mapping": {"a": {"message": said}}, "current_node": "a"}])
exports = json_values | st.lists(message, max_size=2) | message.map(lambda m: {"messages": [m]}) | exported


@settings(max_examples=150, deadline=None)
@given(export=exports.map(json.dumps) | st.text(max_size=60))
def test_any_export_is_converted_or_refused_in_one_line(tmp_path_factory, export):
    folder = tmp_path_factory.mktemp("any")
    (folder / "e").write_text(export, "utf-8")
    try:
        assert convert(folder / "e", folder / "own").lines
    except BadInput as fault:
        assert "\n" not in str(fault)
        assert not (folder / "own").exists()
