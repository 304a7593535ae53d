"""A real Chromium: the system's own, driven by Playwright; where there is none, these tests are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")


def which() -> str | None:
    """Where Chromium lies; none if it is not installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def options() -> list[str]:
    """Chromium's own sandbox refuses to start for root."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: make test-all installs it"
    )
    found = which()
    if found is None:
        pytest.skip("needs Chromium on the PATH: make test-all says how to install it")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=options())
        yield browser
        browser.close()
