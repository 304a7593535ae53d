"""The report of a full-size run: seconds to write it, its size, and how soon Chromium paints, searches and opens it.

Runs are made up in the size of LongMemEval's: 500 questions, each with 22 turns of 1,200 characters of its own, and
contexts of 5,000. Real ones may be given: `python -m tests.benchmarks.bench_report RUN ...`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from results.report.run_report import Money, write_report
from tests.browser.conftest import NAMES, options, which
from tests.results.written_run import Asked, write_run

QUESTIONS, TURNS, WORDS_A_TURN, WORDS_A_CONTEXT = 500, 22, 200, 850
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_SEARCH = """(words) => {
  const search = document.querySelector("input[type=search]");
  const start = performance.now();
  search.value = words;
  search.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  return performance.now() - start;
}"""
_OPEN = """async () => {
  const start = performance.now();
  document.querySelector(".questions .open").click();
  while (!document.querySelector(".one")) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""


def made_up(folder: Path, conditions: int) -> Path:
    """A run whose words follow Zipf's law, as those of conversations do."""
    random = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlcumwfgypbvk"))
    words = ["".join(random.choice(letters, size)) for size in random.integers(2, 10, 20_000)]

    def text(count: int) -> str:
        return " ".join(words[(rank - 1) % len(words)] for rank in random.zipf(1.3, count))

    turns: dict[str, str] = {}
    asked = []
    for number in range(QUESTIONS):
        own = {f"q{number}#{turn}": text(WORDS_A_TURN) for turn in range(TURNS)}
        turns |= own
        names = list(own)
        rows = {
            f"condition-{arm}": (text(20), float(random.integers(2)), float(random.random()), shuffled)
            for arm in range(conditions)
            for shuffled in (list(random.permutation(names)),)
        }
        asked.append(Asked(f"q{number}", f"type-{number % 6}", text(12), text(5), names[:2], rows))
    return write_run(folder, turns, asked, why=text(15), contexts=lambda: text(WORDS_A_CONTEXT))


def in_chromium(file: Path) -> dict[str, float]:
    """Milliseconds until the first paint, until the list stands, for a search and for opening a question."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=which(), args=options())
        tab = browser.new_page()
        tab.goto(file.as_uri())
        tab.wait_for_selector(".listing")
        listed = float(tab.evaluate("performance.now()"))
        found = {
            "first paint": float(tab.evaluate(_PAINT)),
            "list there": listed,
            "first search": float(tab.evaluate(_SEARCH, "a")),
            "later search": float(tab.evaluate(_SEARCH, "")),
            "question opened": float(tab.evaluate(_OPEN)),
        }
        browser.close()
    return found


def measure(name: str, run: Path, out: Path) -> None:
    begun, used = time.perf_counter(), time.process_time()
    write_report(run, Money(), out)
    took, cpu = time.perf_counter() - begun, time.process_time() - used
    print(f"{name}: written in {took:.1f} s ({cpu:.1f} s of CPU), {out.stat().st_size / 1e6:.1f} MB")
    if which() is None:
        print(f"  no Chromium among {', '.join(NAMES)}: not opened")
        return
    print("  " + ", ".join(f"{what} {ms:,.0f} ms" for what, ms in in_chromium(out).items()))


def main(runs: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for conditions in () if runs else (4, 8):
            run = made_up(folder / f"run-{conditions}", conditions)
            measure(f"{QUESTIONS} questions x {conditions} conditions", run, folder / "report.html")
        for given in runs:
            measure(Path(given).name, Path(given), folder / "report.html")


if __name__ == "__main__":
    main(sys.argv[1:])
