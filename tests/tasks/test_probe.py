"""The labelled pairs that thresholds are chosen and reported on."""

from collections import Counter, defaultdict

from tasks.probe import pairs, probe_hash


def test_there_are_hundreds_of_descriptor_pairs_and_half_of_them_are_near_misses() -> None:
    dedup = [pair for pair in pairs() if pair.purpose == "dedup"]
    assert len(dedup) >= 300
    assert sum(pair.match for pair in dedup) * 2 == len(dedup)


def test_the_near_misses_are_of_many_kinds() -> None:
    kinds = Counter(pair.kind for pair in pairs() if pair.purpose == "dedup" and not pair.match)
    hard = {
        "same surname",
        "version",
        "same title, other label",
        "sibling product",
        "near date",
        "namesake",
        "other number",
        "like-sounding name",
        "neighbouring place",
        "opposite",
    }
    assert all(kinds[kind] >= 5 for kind in hard), kinds


def test_for_the_floor_each_question_has_a_node_that_it_asks_for_and_one_beside_it() -> None:
    asked = defaultdict(list)
    for pair in pairs():
        if pair.purpose == "floor":
            asked[pair.a].append(pair.match)
    assert len(asked) >= 100
    assert all(matches == [True, False] for matches in asked.values())


def test_pairs_that_share_a_text_are_of_one_family_and_of_one_half() -> None:
    families, halves = defaultdict(set), defaultdict(set)
    for pair in pairs():
        halves[pair.family].add(pair.half)
        for text in (pair.a, pair.b):
            families[text].add(pair.family)
    assert all(len(found) == 1 for found in families.values())
    assert all(len(found) == 1 for found in halves.values())


def test_half_of_the_families_choose_and_half_report() -> None:
    chosen = {pair.family: pair.half for pair in pairs()}
    sizes = Counter(chosen.values())
    assert sizes["choose"] == sizes["report"] == len(chosen) / 2


def test_every_text_is_a_descriptor_with_one_of_the_graphs_labels() -> None:
    labels = {text.partition(": ")[0] for pair in pairs() for text in (pair.a, pair.b)}
    assert labels == {
        *("Person", "Organization", "Location", "Event", "Concept"),
        *("Artifact", "Preference", "Goal", "Skill"),
    }


def test_no_pair_is_one_text_twice() -> None:
    assert all(pair.a != pair.b for pair in pairs())


def test_a_probe_is_known_by_a_hash() -> None:
    assert len(probe_hash()) == 12 and int(probe_hash(), 16) >= 0
