"""A picture as one HTML file: vis-network draws it, from places that are reckoned here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import BadInput
from results.graph_view.layout import spring_layout
from results.graph_view.picture import Picture
from results.report.packing import deflated
from results.report.page import asset, self_contained
from results.tables import write_bytes

_LIBRARY = "pyvis/lib/vis-9.1.2/vis-network.min.js"
_HERE = "results.graph_view"
_OF_REPORTS = ("text.js", "blocks.js")
_SCRIPTS = ("look.js", "titles.js", "details.js", "graph.js")


def write_picture(picture: Picture, out: Path) -> Path:
    """Write the picture, whole or not at all; returns the file.

    Raises:
        BadInput: If jinja2 or pyvis is missing.
    """
    script = "\n".join(
        [
            '"use strict";',
            _vis_network(),
            *map(asset, _OF_REPORTS),
            *(asset(name, _HERE) for name in _SCRIPTS),
        ]
    )
    page = self_contained(
        asset("graph.html", _HERE),
        asset("graph.css", _HERE),
        script,
        picture=picture,
        data=deflated(drawn(picture)),
    )
    write_bytes(out, page)
    return out


def drawn(picture: Picture) -> dict[str, Any]:
    """What the page's script reads: turns, nodes with their places `x` and `y` in pixels, and edges."""
    ends = [(edge["source"], edge["target"]) for edge in picture.edges]
    places = spring_layout(len(picture.nodes), np.array(ends, np.intp).reshape(-1, 2))
    nodes = [
        {**node, "x": round(float(x), 1), "y": round(float(y), 1)}
        for node, (x, y) in zip(picture.nodes, places, strict=True)
    ]
    return {"size": picture.size, "turns": picture.turns, "nodes": nodes, "edges": picture.edges}


def _vis_network() -> str:
    """The drawing library with its licence notice, from the package that ships it; its Python is not imported."""
    try:
        package = distribution("pyvis")
    except PackageNotFoundError as error:
        raise BadInput("pictures of graphs need pyvis: pip install 'palimpsest[report]'") from error
    try:
        return Path(str(package.locate_file(_LIBRARY))).read_text("utf-8")
    except OSError as error:
        raise BadInput(
            f"the pyvis installed ({package.version}) has no {_LIBRARY}: pip install 'palimpsest[report]'"
        ) from error
