import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.models.offline.answerer import DECLINED, answer
from tasks.models.offline.passages import read

TURNS = "\n\n---\n\n".join(
    [
        "[2023-03-04] I adopted a grey parrot named Bosun from the shelter in Norwich. He is very loud.",
        "[2023-03-20] I have read 14 chapters of the bee book so far. My aunt Ilse met me at Ravenhill Hall.",
        "[2023-05-01] I have read 31 chapters of the bee book now. The ticket for the fair cost me $45.",
        "[2023-05-02] My alarm rings at 6:45 am every Monday, and the train ride takes 25 minutes.",
    ]
)
GRAPH = """\
Nodes:
[Person] User (the user)
[Artifact] grey parrot (I adopted a grey parrot named Bosun from the shelter in Norwich.) (said 2023-03-04)
[Location] Ravenhill Hall
Edges:
User --[adopted {detail: named Bosun from the shelter, raw_date: yesterday}]--> grey parrot (said 2023-03-04)
Ilse --[met the user at]--> Ravenhill Hall"""


def improved(question: str, context: str, date: str | None = "2023-05-30 (Tue) 23:40") -> str:
    return answer(question, context, abstains=True, question_date=date)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("What is the name of my grey parrot?", "Bosun"),
        ("How much did the ticket for the fair cost?", "$45"),
        ("What time does my alarm ring?", "6:45 am"),
        ("How long does the train ride take?", "25 minutes"),
        ("How often does my alarm ring?", "every Monday"),
        ("When did I adopt a parrot?", "4 March 2023"),
        ("How many days ago did I adopt a parrot?", "87 days"),
        (
            "How many days passed between the day I adopted a parrot and the day I met my aunt Ilse?",
            "16 days",
        ),
        ("Which happened first, my parrot's adoption or the fair?", "parrot's adoption"),
        ("Did I adopt a parrot?", "Yes"),
    ],
)
def test_the_answer_is_cut_to_what_the_question_asks_for(question: str, reply: str) -> None:
    assert improved(question, TURNS) == reply


def test_the_value_of_the_latest_session_answers_and_the_earliest_one_what_is_asked_of_the_past() -> None:
    assert improved("How many chapters of the bee book have I read?", TURNS) == "31"
    assert improved("How many chapters of the bee book had I initially read?", TURNS) == "14"


def test_graph_lines_are_read_as_sentences() -> None:
    texts = [passage.text for passage in read(GRAPH)]
    assert "I adopted a grey parrot named Bosun from the shelter in Norwich." in texts
    assert "User adopted grey parrot named Bosun from the shelter yesterday" in texts
    assert "Ilse met the user at Ravenhill Hall" in texts
    assert not {"Nodes:", "Edges:"} & set(texts)


def test_a_graph_context_answers_like_a_turn() -> None:
    assert improved("Where did Ilse meet me?", GRAPH) == "Ravenhill Hall"
    assert improved("When did I adopt a grey parrot?", GRAPH) == "4 March 2023"


def test_an_item_of_a_list_is_found_by_its_number() -> None:
    jobs = "Here are jobs:\n1. Gardener: outdoors\n2. Typesetter: indoors\n3. Baker: early"
    assert answer("What was the 2nd job in the list?", jobs, abstains=False) == "Typesetter"


def test_the_head_of_a_lists_entry_answers_before_the_words_beside_it() -> None:
    brands = "1. Ostrik: Boots of felt.\n2. Norden - This French brand makes shoes of wild rubber."
    assert answer("Which brand makes shoes of wild rubber?", brands, abstains=False) == "Norden"


def test_a_speakers_name_before_a_turn_is_no_head() -> None:
    spoken = "Ilse: Oh, a grey parrot, and so as a pet it is very loud."
    assert answer("What kind of pet is loud?", spoken, abstains=False) == "grey parrot"


def test_without_context_the_improved_profile_declines_and_the_published_one_guesses() -> None:
    assert improved("Where do I live?", "") == DECLINED
    guess = answer("How many hives do I keep?", "", abstains=False)
    assert guess and guess != DECLINED


def test_the_improved_profile_declines_where_the_context_is_about_something_else() -> None:
    assert (
        improved("What is the dosage of my sister's migraine tablets?", "The ferry leaves at noon.")
        == DECLINED
    )


@given(question=st.text(max_size=200), context=st.text(max_size=500), abstains=st.booleans())
def test_any_text_gets_an_answer_that_is_not_empty(question: str, context: str, abstains: bool) -> None:
    reply = answer(question, context, abstains=abstains, question_date=None)
    assert reply.strip()
    assert reply == answer(question, context, abstains=abstains, question_date=None)
