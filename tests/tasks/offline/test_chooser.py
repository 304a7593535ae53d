from tasks.models.offline.answerer import answer_request
from tasks.models.offline.chooser import choose

OPTIONS = ["(a) As you like tea, try the tea house.", "(b) As you like milk, try the milk bar."]


def test_the_option_of_which_the_context_says_most_is_chosen():
    assert choose("Where to?", "user: I have come to love milk.", OPTIONS) == "(b)"
    assert choose("Where to?", "user: I drink tea.", OPTIONS) == "(a)"


def test_without_anything_that_tells_options_apart_the_first_is_taken():
    assert choose("Where to?", "", OPTIONS) == "(a)"


def test_a_request_with_options_is_answered_with_a_letter():
    inputs = {"question": "Where to?", "context": "I love milk.", "options": "\n".join(OPTIONS)}
    assert answer_request(inputs) == "(b)"
