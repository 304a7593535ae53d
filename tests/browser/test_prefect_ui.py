"""The Prefect UI as a person uses it: a deployment's form is filled, refuses a bad value, and its run is looked at.

Screenshots of each step are kept in the git-ignored folder `screenshots` beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.flows.served import Served, environment_of, serving
from tests.tasks.models.fakes import FakeServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).with_name("screenshots")
PATIENCE = 180_000  # milliseconds: a run starts a Python process on whatever machine this is


@pytest.fixture
def served(chromium: Browser, tmp_path: Path) -> Iterator[Served]:
    """A server with its worker; none is started where there is no browser."""
    with FakeServer() as fake, serving(tmp_path, environment_of(tmp_path, fake)) as found:
        yield found


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def keep(tab: Page, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    tab.screenshot(path=SCREENSHOTS / f"{name}.png")


def field(tab: Page, label: str) -> Locator:
    """A field of the form with its label and its help."""
    return tab.get_by_text(label, exact=True).locator("xpath=ancestor::div[contains(@class, 'group')][1]")


def test_a_form_is_filled_and_refused_and_sent_and_its_run_completes_with_a_table_to_open(
    served: Served, tab: Page
) -> None:
    tab.goto(f"http://127.0.0.1:{served.port}")
    tab.get_by_role("link", name="Deployments").first.click()
    tab.get_by_role("link", name="smoke").first.wait_for()
    keep(tab, "1-deployments")
    tab.get_by_role("link", name="smoke").first.click()
    tab.get_by_role("button", name="Run", exact=True).click()
    tab.get_by_role("menuitem", name="Custom run").click()

    limit = field(tab, "Limit (Optional)")
    assert "Take a sample of N questions" in limit.inner_text()
    assert "offline" in field(tab, "Models (Optional)").inner_text()
    keep(tab, "2-form")
    limit.get_by_role("tab", name="int").click()
    limit.locator("input").fill("0")
    tab.get_by_role("button", name="Submit").click()
    assert limit.locator("input").evaluate("input => input.validationMessage")
    keep(tab, "3-refused")
    assert served.post("/flow_runs/count") == 0

    limit.locator("input").fill("3")
    tab.get_by_role("button", name="Submit").click()
    tab.get_by_role("link", name="View run").click()
    tab.get_by_text("representation on sample, limit 3").first.wait_for()
    tab.get_by_text("Completed", exact=True).first.wait_for()
    keep(tab, "4-completed")
    run = re.search(r"flow-run/([0-9a-f-]{36})", tab.url)
    assert run
    assert served.run(run.group(1))["parameters"]["study"]["limit"] == 3

    tab.get_by_role("tab", name="Artifacts").click()
    tab.get_by_role("link", name="representation-sample-progress").first.wait_for()
    keep(tab, "5-artifacts")
    tab.get_by_role("link", name="representation-sample-conditions").first.click()
    tab.get_by_role("cell", name="graph-improved").wait_for()
    keep(tab, "6-conditions")
    shown = [row.inner_text().split()[0] for row in tab.get_by_role("row").all()]
    assert shown == [
        "Condition",
        "none",
        "oracle",
        "full_context",
        "bm25",
        "flat",
        "flat-improved",
        "graph",
        "graph-improved",
    ]
