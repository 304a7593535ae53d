"""The command `palimpsest blocks register`: what the runs of a Prefect server share, set up once or again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, cast

import typer

# Everything heavy is imported inside the command that needs it.
if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

app = typer.Typer(
    help="What a Prefect server is told once: the key's Secret block, the work pool, shared limits."
)

POOL = "palimpsest"


@app.callback()
def _blocks() -> None:
    """Keep `register` a command of its own: Typer would make a single one the group itself."""


@app.command()
def register(
    openai_at_once: Annotated[
        int | None, typer.Option(min=1, help="Most requests to OpenAI at once, of all runs together.")
    ] = None,
    ollama_at_once: Annotated[
        int | None, typer.Option(min=1, help="Most requests to Ollama at once, of all runs together.")
    ] = None,
) -> None:
    """Set up, on the server that PREFECT_API_URL names, the work pool, OpenAI's key, and limits if they are given.

    The key is read from OPENAI_API_KEY and kept in the Secret block `openai-api-key`; without it the block stays as
    it is. What is there already is brought up to date, so the command may be given again.
    """
    from prefect.client.orchestration import get_client

    limits = {"openai": openai_at_once, "ollama": ollama_at_once}
    with _on_a_server(), get_client(sync_client=True) as client:
        typer.echo(set_up_pool(client))
        typer.echo(_set_up_key())
        for alias, slots in limits.items():
            if slots is not None:
                typer.echo(_set_up_limit(client, alias, slots))


@contextmanager
def _on_a_server() -> Iterator[None]:
    """Turn what a server is not into one line.

    Raises:
        BadInput: If none is named, or it does not answer, or refuses.
    """
    import httpx
    from prefect.settings import get_current_settings

    from memory.errors import BadInput

    address = get_current_settings().api.url
    if address is None:
        raise BadInput("no Prefect server: set PREFECT_API_URL, such as http://127.0.0.1:4200/api")
    try:
        yield
    except (httpx.HTTPError, RuntimeError) as error:  # Prefect's own word for a server that cannot be reached
        raise BadInput(f"the Prefect server at {address} cannot be used: {error}") from error


def set_up_pool(client: SyncPrefectClient) -> str:
    """Make the work pool, unless it is there; returns what was done.

    Raises:
        BadInput: If it is there and of another type.
    """
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound
    from prefect.workers.process import ProcessWorker

    from memory.errors import BadInput

    try:
        found = client.read_work_pool(POOL)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        client.create_work_pool(
            WorkPoolCreate(name=POOL, type=ProcessWorker.type, base_job_template=template)
        )
        return f"work pool {POOL}: made"
    if found.type != ProcessWorker.type:
        raise BadInput(
            f"work pool {POOL} is of type {found.type}: delete it, or make one of type {ProcessWorker.type}"
        )
    return f"work pool {POOL}: there already"


def _set_up_key() -> str:
    from prefect.blocks.system import Secret

    from tasks.models.keys import block_name, openai_key

    key, name = openai_key(), block_name()
    try:
        held = str(cast("Secret[str]", Secret.load(name)).get())
    except ValueError:  # there is none of that name
        held = ""
    if not key:
        kept = "left as it is" if held else "not made"
        return f"Secret block {name}: {kept}, for OPENAI_API_KEY is not set"
    if key == held:
        return f"Secret block {name}: holds that key already"
    Secret(value=key).save(name, overwrite=True)
    return f"Secret block {name}: {'replaced' if held else 'made'} from OPENAI_API_KEY"


def _set_up_limit(client: SyncPrefectClient, alias: str, slots: int) -> str:
    from tasks.models.shared_limits import PREFIX

    client.upsert_global_concurrency_limit_by_name(PREFIX + alias, slots)
    return f"concurrency limit {PREFIX}{alias}: {slots} at once"
