"""Whether a path that a run is given lies inside the project.

A person at a shell may name any folder. The parameters of a flow may come from whoever can reach the Prefect server,
and a run folder may come from somebody else.
"""

from __future__ import annotations

from pathlib import Path

from memory.errors import BadInput


def inside(path: Path, name: str, *, outside: bool) -> Path:
    """The path as it is given, if with all links followed it lies in the working folder, or may lie elsewhere.

    Args:
        path: Of a file or folder that need not exist.
        name: The parameter that gave it, for the message.
        outside: Whether it may lie anywhere.

    Raises:
        BadInput: If it lies outside of the working folder and may not.
    """
    home = Path.cwd().resolve()
    try:
        real = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a null character
        raise BadInput(f"{name} {str(path)!r}: is no path ({type(error).__name__})") from error
    if not (outside or real.is_relative_to(home)):
        raise BadInput(
            f"{name} {str(path)!r}: lies outside of the project's folder {home}; name one inside it, or set the "
            "parameter `outside` to allow it"
        )
    return path
