"""serve: the memory over HTTP, for one machine or for many callers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.options import DONE, Common, command
from mnemic.errors import ConfigurationError, InvalidInput

if TYPE_CHECKING:
    from mnemic.access.apikeys import LocalKey
    from mnemic.settings import Settings

HOST = "127.0.0.1"
PORT = 8000
_MOST_WORKERS = 64

Local = Annotated[
    bool, typer.Option("--local", help="For this machine: loopback only, with a key made now.")
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")]
Workers = Annotated[
    int | None, typer.Option(help="Processes; else one with --local, one a processor up to 4.")
]


def register(app: typer.Typer) -> None:
    """Add this command to the application."""
    command(app, "serve")(serve)


async def serve(
    common: Common,
    local: Local = False,
    host: Host = HOST,
    port: Port = PORT,
    workers: Workers = None,
) -> int:
    """Serve the memory over HTTP until SIGTERM or Ctrl-C."""
    _require_posix()
    from mnemic.access.credentials import require_server_extra

    require_server_extra()
    count = _count(workers, local)
    if not 0 <= port <= 65_535:
        raise InvalidInput("port_out_of_range", "A port is a number from 0 to 65535.")
    settings = serving_settings(common.settings(), local)
    _require_startable(settings, count)
    from mnemic.cli.supervisor import Supervisor, listen, url_of
    from mnemic.cli.worker import COUNTS, Plan
    from mnemic.deployment import Deployment

    with listen(host, port, loopback_only=local) as listening, _shared_counts() as counts:
        deployment = await Deployment.start(settings)  # held open: the workers share its server
        try:
            key, text = await _local_key(common, deployment) if local else (None, None)
            told = settings.model_dump(exclude_unset=True) | {"consent": settings.consent}
            plan = Plan(-1, -1, -1, count, _plain(told), key, verbose=not local)
            await Supervisor(
                plan,
                listening,
                patience=1.5 * settings.shutdown_timeout,
                ready=_announcement(common, url_of(listening), text, key),
                note=common.out.note,
                environment={COUNTS: counts},
            ).run()
        finally:
            await deployment.close()
    return DONE


def serving_settings(settings: Settings, local: bool) -> Settings:
    """Return the settings of a service: consent is required unless they say otherwise, or it is local."""
    if "consent" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"consent": "implied" if local else "required"})


def _require_posix() -> None:
    if sys.platform == "win32":
        raise ConfigurationError(
            "serve_unsupported_platform",
            "`mnemic serve` does not run on Windows: use WSL or the container.",
        )


def _require_startable(settings: Settings, workers: int) -> None:
    """Find out here, and not in every worker, what cannot work."""
    from mnemic.access.credentials import tokens_of
    from mnemic.access.rates import Rates
    from mnemic.hosts import require_hosts
    from mnemic.tasks.declared import declared

    require_hosts(settings.allowed_hosts)
    declared(settings.workflows)
    tokens_of(settings)
    Rates.of(settings, workers)


def _count(workers: int | None, local: bool) -> int:
    if workers is None:
        return 1 if local else min(4, os.cpu_count() or 1)
    if not 1 <= workers <= _MOST_WORKERS:
        raise InvalidInput("workers_out_of_range", f"Workers are 1 to {_MOST_WORKERS} processes.")
    return workers


async def _local_key(common: Common, deployment: Any) -> tuple[LocalKey, str]:
    """Return the key of this run: its digest for the workers, its text to be shown once."""
    from mnemic.access.apikeys import LocalKey, deployment_of, new_key, parsed, secret_mac

    text, prefix = new_key()
    found = parsed(text)
    assert found is not None
    mac = secret_mac(await deployment_of(deployment.database), *found)
    return LocalKey(prefix, mac, common.actor.user), text


def _announcement(
    common: Common, url: str, text: str | None, key: LocalKey | None
) -> Callable[[], None]:
    value: dict[str, object] = {"url": url, "pid": os.getpid()}
    lines = [f"Serving on {url}. Stop with Ctrl-C."]
    if key is not None:
        value |= {"key": text, "user": key.user}
        lines += [f"The key of {key.user} while this runs, shown only now:", str(text)]
    return lambda: common.out.result(value, *lines)


def _shared_counts() -> tempfile.TemporaryDirectory[str]:
    """Where the workers keep the counts that /metrics adds up."""
    return tempfile.TemporaryDirectory(prefix="mnemic-metrics-")


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    """Return settings as JSON can hold them; secrets go through the pipe only, to nobody's command line."""
    from pydantic import SecretStr

    plain: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, SecretStr):
            plain[name] = value.get_secret_value()
        elif isinstance(value, frozenset):
            plain[name] = ",".join(sorted(value))
        else:
            plain[name] = value if isinstance(value, int | float | str | None) else str(value)
    return plain
