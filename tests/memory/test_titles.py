import pytest

from memory.titles import TitleIndex, normalise_title
from tests.memory.fake_models import settings


@pytest.mark.parametrize(
    ("title", "published", "improved"),
    [
        ("  Road Trip ", "road trip", "road trip"),
        ("road  trips", "road  trips", "road trip"),
        ("Road-trip!", "road-trip!", "road trip"),
        ("Ｒｏａｄ trip", "ｒｏａｄ trip", "road trip"),
        ("berries", "berries", "berry"),
        ("glass", "glass", "glass"),
        ("C++", "c++", "c++"),
        ("Anna's bus", "anna's bus", "annas bus"),
        ("!", "!", ""),
        ("", "", ""),
    ],
)
def test_titles_are_normalised_as_the_profile_says(title, published, improved):
    assert normalise_title(title, fully=False) == published
    assert normalise_title(title, fully=True) == improved


def test_published_lets_labels_overwrite_one_another_and_improved_does_not():
    published, improved = TitleIndex(settings("published")), TitleIndex(settings("improved"))
    for index in (published, improved):
        index.add("Location", "Paris", "city")
        index.add("Person", "Paris", "woman")
    assert published.find("Location", "Paris") == "woman"
    assert improved.find("Location", "Paris") == "city"


def test_an_empty_title_is_not_indexed():
    index = TitleIndex(settings("published"))
    index.add("Event", "  ", "x")
    assert index.entries == {}
    assert index.find("Event", "") is None


def test_a_title_is_forgotten_only_by_its_owner():
    index = TitleIndex(settings("published"))
    index.add("Location", "Paris", "city")
    index.remove("Location", "paris", "another")
    assert index.find("Location", "paris") == "city"
    index.remove("Location", "paris", "city")
    assert index.find("Location", "paris") is None
