"""Text for people: tables as Markdown and LaTeX, and numbers as the paper writes them.

Names come from files and models that nobody vouches for: control and invisible format characters are dropped,
and whatever Markdown, HTML or LaTeX would take for its own is escaped.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

_MARKDOWN = re.compile(r"([\\`*_\[\]!|~$])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"})
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{special: f"\\{special}" for special in "&%$#_{}"},
        "[": "{[}",  # after a line's end, LaTeX would take [ and * for arguments of it
        "*": "{*}",
        "±": r"$\pm$",
        "–": "--",
    }
)
_STEERING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


def printable(text: str) -> str:
    """The text without control and invisible format characters, which steer a terminal; lines and blanks stay."""
    if text.isprintable():
        return text
    return "".join(
        letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in _STEERING
    )


def plain(text: str) -> str:
    """One line without control characters: what a terminal shows is what is there."""
    spaced = "".join(" " if letter.isspace() else letter for letter in text)
    return " ".join(printable(spaced).split())


def number(value: float, digits: int = 3) -> str:
    """`0.417`; a dash where there is no figure."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def signed(value: float) -> str:
    """`+0.001`, `-0.050`; a dash where there is no figure."""
    return "–" if math.isnan(value) else f"{value:+.3f}"


def interval(low: float, high: float, *, sign: bool = False) -> str:
    """`[0.386, 0.449]`, or with signs `[-0.085, -0.016]`."""
    show = signed if sign else number
    return f"[{show(low)}, {show(high)}]"


def probability(p: float, least: float = 0.0001) -> str:
    """`0.0040`; a smaller p than can be known (or shown) is `<0.0002`."""
    return f"<{least:g}" if p < least else number(p, 4)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A GitHub-flavoured table under its caption; every text is escaped."""
    lines = [
        _markdown_row(header),
        "|" + "|".join("---" if column == 0 else "---:" for column in range(len(header))) + "|",
        *map(_markdown_row, rows),
    ]
    return f"{_markdown_text(caption)}\n\n" + "\n".join(lines) + "\n"


def latex(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """A booktabs table; every text is escaped. The document needs the package booktabs."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex_text(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        _latex_row(header),
        r"\midrule",
        *map(_latex_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown_text, cells))} |"


def _markdown_text(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", plain(text).translate(_HTML))


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex_text, cells)) + r" \\"


def _latex_text(text: str) -> str:
    return _MINUS.sub("$-$", plain(text).translate(_LATEX))
