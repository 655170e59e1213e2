"""db model, db reembed: which models does the deployment have, and how does it change to another?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, Common, command
from mnemic.cli.output import counted

if TYPE_CHECKING:
    from mnemic.embedding.change import Changed
    from mnemic.embedding.protocol import Embedder
    from mnemic.settings import Settings

LOCAL = ("local", "use-multilingual-v3")
Name = Annotated[str, typer.Argument(help="The model's name, as `db model list` shows it.")]
Dims = Annotated[int | None, typer.Option(help="Width of its vectors, 1 to 4000.")]
Model = Annotated[
    str, typer.Option("--model", help="The new model: a name at the endpoint, or `local`.")
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="Its endpoint; else MNEMIC_EMBEDDING_BASE_URL. The key is read from there too."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count, and estimate the time.")]


def register(db: typer.Typer) -> None:
    """Add these commands to ``db``."""
    group = typer.Typer(no_args_is_help=True, help="The deployment's embedding models.")
    db.add_typer(group, name="model")
    command(group, "list")(show_models)
    command(group, "add")(add_model)
    command(db, "reembed")(reembed)


async def show_models(common: Common) -> int:
    """List the embedding models whose vectors this database knows."""
    from rich.table import Table

    from mnemic.deployment import Deployment
    from mnemic.embedding.registry import models

    deployment = await Deployment.start(common.settings())
    try:
        found = await models(deployment.database)
    finally:
        await deployment.close()
    columns = ("model_id", "name", "dims", "current", "indexed")
    table = Table("id", "name", "dimensions", "current", "indexed", box=None)
    for model in found:
        table.add_row(*(str(model[name]) for name in columns))
    common.out.result({"models": found}, table)
    return DONE


async def add_model(common: Common, name: Name, dims: Dims = None) -> int:
    """Index the vectors of a model (HNSW), so that scopes of many thousands are searched faster."""
    from mnemic.deployment import as_owner
    from mnemic.embedding.indexes import add_index
    from mnemic.storage.migrate import connect_owner
    from mnemic.storage.pool import learn

    settings = common.settings()
    async with as_owner(settings) as (_, addresses):
        assert addresses.owner is not None
        conn = await connect_owner(addresses.owner)
        async with conn:
            types = await learn(conn)
            made = await add_index(conn, settings.db_schema, types, name, dims)
    common.out.result(
        {"model": name, "indexes": made}, f"Large scopes of {name} are searched by index now."
    )
    return DONE


async def reembed(
    common: Common,
    model: Model,
    base_url: BaseUrl = None,
    dims: Dims = None,
    dry_run: DryRun = False,
) -> int:
    """Change the deployment's model: embed everything anew while it is searched, then switch at once.

    Safe to interrupt and run again.
    """
    from mnemic.deployment import as_owner
    from mnemic.embedding.change import ModelChange
    from mnemic.embedding.models import close_embedder
    from mnemic.resources.chunk_texts import chunk_texts

    settings = common.settings()
    embedder = _embedder(settings, model, base_url, dims)
    try:
        async with as_owner(settings) as (deployment, _):
            change = ModelChange(deployment.database, deployment.keys, chunk_texts)
            if dry_run:
                return await _estimate(common, change, embedder)
            return await _change(common, change, embedder)
    finally:
        await close_embedder(embedder)


async def _estimate(common: Common, change: Any, embedder: Embedder) -> int:
    size, seconds = await change.preview(embedder)
    common.out.result(
        {
            "model": embedder.name,
            "dims": embedder.dims,
            "items": size.items,
            "chunks": size.chunks,
            "ready": size.ready,
            "seconds": round(seconds, 1),
            "dry_run": True,
        },
        f"{counted(size.items, 'item')} and {counted(size.chunks, 'chunk')} to embed with {embedder.name},"
        f" {size.ready:,} of them ready: about {_duration(seconds)}. Nothing was changed.",
    )
    return DONE


async def _change(common: Common, change: Any, embedder: Embedder) -> int:
    began = time.monotonic()
    with common.out.progress(quiet=common.out.as_json) as bar:
        task = bar.add_task("embedding", total=None)
        done = await change.run(
            embedder, lambda count, total: bar.update(task, completed=count, total=total)
        )
    seconds = time.monotonic() - began
    common.out.result(
        {
            "model": done.model,
            "dims": done.dims,
            "before": done.before,
            "in_use": done.in_use,
            "given_up": done.given_up,
            "rows": done.rows,
            "refused": done.refused,
            "seconds": round(seconds, 1),
        },
        *_told(done, seconds),
    )
    return DONE


def _told(done: Changed, seconds: float) -> list[str]:
    model = f"{done.model} ({counted(done.dims, 'dimension')})"
    vectors = counted(done.rows, "vector is", "vectors are")
    refused = [f"no vector: {one.table} {one.id} [{one.reason}]" for one in done.refused]
    gone = [f"The change to {done.given_up} was given up."] if done.given_up else []
    if not done.in_use:
        return [
            f"{vectors} of {model} now; it took {_duration(seconds)}.",
            *refused,
            *gone,
            f"Configure {done.model} in every process and start them again: until then they find by"
            " words alone and write nothing.",
        ]
    if done.rows:
        return [f"{model} is in use already; {vectors} of it now that were not.", *refused, *gone]
    return [f"{model} is in use already: nothing is to be done.", *refused, *gone]


async def unfinished(settings: Settings) -> Mapping[str, Any] | None:
    """Return the change of models that was begun and not finished."""
    from mnemic.deployment import as_owner
    from mnemic.embedding.change import under_way

    async with as_owner(settings) as (deployment, _):
        change = await under_way(deployment.database)
    if change is None:
        return None
    size = change.size
    return {
        "model": change.model,
        "dims": change.dims,
        "items": size.items,
        "chunks": size.chunks,
        "ready": size.ready,
    }


def _embedder(settings: Settings, model: str, base_url: str | None, dims: int | None) -> Embedder:
    base_url = base_url or settings.embedding_base_url
    if model in LOCAL or base_url is None:
        return _local(model)
    from mnemic.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        base_url,
        model,
        api_key=settings.embedding_api_key,
        dims=dims or settings.embedding_dimensions,
        allowed_hosts=settings.allowed_hosts,
    )


def _local(model: str) -> Embedder:
    from mnemic.embedding.local import LocalEncoder
    from mnemic.errors import InvalidInput

    if model not in LOCAL:
        raise InvalidInput(
            "embedding_endpoint_missing",
            "Name the model's endpoint with --base-url, or say `local`.",
        )
    return LocalEncoder()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
