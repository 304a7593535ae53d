"""A report in a real browser: opened from disk, filtered, searched, read by keyboard, printed, and attacked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from results.report.comparison import write_comparison
from results.report.run_report import Money, write_report
from results.report.sides import sides
from tests.results.test_report import HOSTILE, made_of
from tests.results.written_run import QUESTIONS_ASKED, TURNS_SAID, Asked, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

NARROW = {"width": 390, "height": 800}


@dataclass
class Watched:
    """A tab, and what it did that a report must not do."""

    tab: Page
    faults: list[str] = field(default_factory=list)

    def open(self, file: Path, fragment: str = "") -> Page:
        self.tab.goto(f"{file.as_uri()}{fragment}")
        self.tab.wait_for_selector("#browser:not([hidden]) > *")
        return self.tab


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Watched]:
    context = chromium.new_context()
    context.set_default_timeout(10_000)
    found = Watched(context.new_page())
    found.tab.on("console", lambda message: found.faults.append(message.text))
    found.tab.on("pageerror", lambda error: found.faults.append(str(error)))
    found.tab.on("dialog", lambda dialog: found.faults.append(dialog.message))
    found.tab.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else found.faults.append(request.url)
        ),
    )
    yield found
    context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_run(tmp_path_factory.mktemp("run"), TURNS_SAID, QUESTIONS_ASKED), Money())


def shown(tab: Page) -> list[str]:
    """The questions that are listed."""
    return tab.locator(".questions .open").all_inner_texts()


KITE, CALL, BOATS = (question.text for question in QUESTIONS_ASKED)


def test_a_report_opens_from_disk_asks_for_nothing_and_lists_every_question(
    watched: Watched, report: Path
) -> None:
    tab = watched.open(report)
    assert shown(tab) == [KITE, CALL, BOATS]
    assert tab.locator(".count").inner_text() == "3 of 3 questions, 1–3 here"
    assert watched.faults == []


@pytest.mark.parametrize(
    ("chosen", "listed"),
    [
        ({"Type": "multi"}, [BOATS]),
        ({"Judged": "wrong"}, [KITE, CALL]),
        ({"Judged": "wrong", "Condition": "graph"}, [KITE]),
        ({"Judged": "no verdict"}, [BOATS]),
        ({"Judged": "right in one, wrong in another"}, [KITE, CALL]),
        ({"Evidence found": "all of it in the first 5", "Condition": "graph"}, [CALL, BOATS]),
        ({"Evidence found": "some of it"}, [BOATS]),
        ({"Evidence found": "none of it", "Judged": "right"}, []),
        ({"F1": "below"}, [KITE, CALL]),
        ({"F1": "at least", "Condition": "flat"}, [KITE, BOATS]),
    ],
)
def test_filters_must_hold_in_one_and_the_same_condition(
    watched: Watched, report: Path, chosen: dict[str, str], listed: list[str]
) -> None:
    tab = watched.open(report)
    for label, option in chosen.items():
        tab.get_by_label(label, exact=True).select_option(label=option)
    assert shown(tab) == listed


def test_the_threshold_of_f1_is_the_readers(watched: Watched, report: Path) -> None:
    tab = watched.open(report)
    tab.get_by_label("F1", exact=True).select_option(label="at least")
    tab.get_by_label("F1 of").fill("0.8")
    assert shown(tab) == [KITE, CALL]


@pytest.mark.parametrize(
    ("words", "listed"),
    [("agnes", [CALL]), ("ROOF", [KITE]), ("boats three", [BOATS]), ("q2", [CALL]), ("nowhere", [])],
)
def test_search_finds_questions_references_and_answers_whatever_the_case_and_accents(
    watched: Watched, report: Path, words: str, listed: list[str]
) -> None:
    tab = watched.open(report)
    tab.get_by_label("Search").fill(words)
    assert shown(tab) == listed


def test_a_question_is_opened_read_and_left_by_keyboard_alone(watched: Watched, report: Path) -> None:
    tab = watched.open(report)
    tab.locator(".questions .open").nth(1).focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".one")
    assert tab.evaluate("document.activeElement.textContent") == CALL
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".listing")
    assert shown(tab) == [KITE, CALL, BOATS]


def test_an_open_question_shows_reference_evidence_ranking_answer_and_verdict(
    watched: Watched, report: Path
) -> None:
    tab = watched.open(report, "#question=q2")
    one = tab.locator(".one")
    assert one.locator("h3").inner_text() == CALL
    assert one.locator(".turn.evidence .quote").first.inner_text() == "turn number 2 says a thing"
    flat, graph = one.locator(".side").all()
    assert "wrong" in flat.inner_text()
    assert "right" in graph.inner_text()
    assert graph.locator(".answer").inner_text() == "her aunt"
    assert "Judge: because" in graph.inner_text()
    assert [line.inner_text() for line in graph.locator("summary").all()] == [
        "1 (1.000) turn number 4 says a thing",
        "2 (0.500) evidence turn number 2 says a thing",
        "Context: 11 characters",
    ]
    assert "evidence at 2" in graph.inner_text()
    assert "evidence not among the first 50 turns" in flat.inner_text()
    graph.locator("summary").last.click()
    assert graph.locator("pre").inner_text() == "the context"


def test_next_and_previous_walk_among_the_questions_that_the_filters_left(
    watched: Watched, report: Path
) -> None:
    tab = watched.open(report)
    tab.get_by_label("Type", exact=True).select_option(label="single")
    tab.locator(".questions .open").first.click()
    tab.get_by_role("button", name="Next").click()
    tab.locator(".one h3", has_text=CALL).wait_for()
    assert tab.get_by_role("button", name="Next").is_disabled()
    tab.get_by_role("button", name="Previous").click()
    tab.locator(".one h3", has_text=KITE).wait_for()


def test_an_address_that_names_no_question_shows_the_list(watched: Watched, report: Path) -> None:
    assert len(shown(watched.open(report, "#question=%E0%A4%A"))) == 3
    assert watched.faults == []


def test_the_list_is_drawn_a_page_at_a_time(watched: Watched, tmp_path: Path) -> None:
    asked = [
        Asked(f"q{n}", "t", f"Question {n}?", "r", ["t1"], {"flat": ("a", 1.0, 1.0, ["t1"])})
        for n in range(120)
    ]
    tab = watched.open(write_report(write_run(tmp_path / "run", TURNS_SAID, asked), Money()))
    assert len(shown(tab)) == 50
    tab.get_by_role("button", name="Later").click()
    tab.get_by_role("button", name="Later").click()
    assert shown(tab)[0] == "Question 100?"
    assert tab.get_by_role("button", name="Later").is_disabled()
    tab.locator(".questions .open").last.click()
    assert tab.locator(".one h3").inner_text() == "Question 119?"


@pytest.mark.parametrize("text", [*HOSTILE, "\x1b[2J\u202egnp.exe"])
def test_hostile_texts_are_read_and_never_run(watched: Watched, tmp_path: Path, text: str) -> None:
    tab = watched.open(write_report(made_of(tmp_path / "run", text), Money()))
    tags = tab.evaluate("[...new Set([...document.querySelectorAll('main *')].map((e) => e.tagName))]")
    assert {"SCRIPT", "IMG", "B"}.isdisjoint(tags)
    expected = text.replace("\x1b", "‹U+001B›").replace("\u202e", "‹U+202E›").strip()
    assert [line.strip() for line in shown(tab)] == [expected]
    tab.locator(".questions .open").click()
    one = tab.locator(".one")
    one.wait_for()
    assert one.locator(".answer").inner_text().strip() == expected
    assert tab.evaluate("document.querySelectorAll('.one script, .one img, .one a, .one b').length") == 0
    assert watched.faults == []


def test_the_pages_policy_stops_scripts_styles_and_requests_that_are_not_its_own(
    watched: Watched, report: Path
) -> None:
    tab = watched.open(report)
    stopped = tab.evaluate(
        """async () => {
          const found = [];
          document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          const image = document.createElement("img");
          image.src = "http://127.0.0.1:9/x.png";
          const style = document.createElement("style");
          document.body.append(script, image, style);
          style.textContent = "body { display: none }";
          await fetch("http://127.0.0.1:9/").catch(() => {});
          await new Promise((done) => setTimeout(done, 50));
          return { found, ran: window.ran === true };
        }"""
    )
    assert not stopped["ran"]
    assert {"script-src-elem", "img-src", "style-src-elem", "connect-src"} <= set(stopped["found"])


def test_light_and_dark_follow_the_system_and_the_switch(watched: Watched, report: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    watched.tab.emulate_media(color_scheme="dark")
    tab = watched.open(report)
    dark = tab.evaluate(paper)
    tab.get_by_label("Colours").select_option("light")
    light = tab.evaluate(paper)
    assert (dark, light) == ("rgb(22, 24, 28)", "rgb(255, 255, 255)")
    tab.get_by_label("Colours").select_option("dark")
    assert tab.evaluate(paper) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_of_text_stands_out_from_the_paper(watched: Watched, report: Path, scheme: str) -> None:
    watched.tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    tab = watched.open(report, "#question=q1")
    ratios = tab.evaluate(
        """() => {
          const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
          const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(channel);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ground = (e) => {
            for (; e; e = e.parentElement) {
              const colour = getComputedStyle(e).backgroundColor;
              if (!colour.endsWith(", 0)")) return colour;
            }
          };
          const ratio = (e) => {
            const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
          };
          const told = [...document.querySelectorAll("body *")].filter((e) => e.innerText && e.checkVisibility());
          return told.map((e) => [ratio(e), e.className || e.tagName]);
        }"""
    )
    assert min(ratios)[0] >= 4.5, min(ratios)


def test_nothing_is_wider_than_a_telephone(watched: Watched, report: Path) -> None:
    watched.tab.set_viewport_size(NARROW)  # type: ignore[arg-type]
    for fragment in ("", "#question=q1"):
        tab = watched.open(report, fragment)
        assert tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_print_leaves_out_what_only_works_on_a_screen_and_keeps_the_open_question(
    watched: Watched, report: Path, tmp_path: Path
) -> None:
    tab = watched.open(report)
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible()
    assert not tab.locator("#questions").is_visible()
    assert tab.locator("#headline").is_visible()
    tab = watched.open(report, "#question=q1")
    assert tab.locator(".one").is_visible()
    assert not tab.get_by_role("button", name="Next").is_visible()
    assert tab.pdf(path=tmp_path / "report.pdf").startswith(b"%PDF")


def test_every_table_names_its_columns_rows_and_purpose(watched: Watched, report: Path) -> None:
    tab = watched.open(report)
    assert tab.evaluate("document.documentElement.lang") == "en"
    bad = tab.evaluate(
        "[...document.querySelectorAll('main > section:not(#questions) table')].filter((table) => !table.caption || "
        "[...table.querySelectorAll('th')].some((th) => !th.scope)).length"
    )
    assert bad == 0


def test_a_comparison_shows_both_sides_of_a_question(watched: Watched, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", TURNS_SAID, QUESTIONS_ASKED)
    left, right = sides(f"{run}:flat", f"{run}:graph", different_data=False)
    out = tmp_path / "compared.html"
    write_comparison(left, right, out, (Money(), Money()), {"judge": ("x", "y")}, resamples=200, seed=0)
    tab = watched.open(out, "#question=q1")
    assert [name.inner_text() for name in tab.locator(".side h4").all()] == ["A: flat", "B: graph"]
    assert watched.faults == []
