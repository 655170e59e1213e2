"""In which Redis do the windows of this process lie? The configured one, else that of the data directory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mnemic.errors import ConfigurationError, MnemicError
from mnemic.session.window_store import Bounds, WindowStore, open_store
from mnemic.settings import Settings
from mnemic.storage.redis_client import require_redis
from mnemic.storage.valkey import JoinedValkey, join_valkey

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Windows:
    """Where the windows lie; without a ``store`` every read comes from the log."""

    store: WindowStore | None = None
    joined: JoinedValkey | None = None

    async def close(self) -> None:
        """Close the connections and leave the embedded server; idempotent."""
        try:
            if self.store is not None:
                await self.store.calls.close()
        finally:
            if self.joined is not None:
                await asyncio.to_thread(self.joined.leave)


async def open_windows(settings: Settings, data_dir: Path | None) -> Windows:
    """Return where windows lie. ``data_dir`` is that of the embedded database, None where there is none.

    A server of ``MNEMIC_REDIS_URL`` need not be there yet. Where the embedded Valkey cannot be had,
    everything comes from the log, and a warning says why. Raises ConfigurationError (``redis_url_invalid``,
    ``redis_not_installed``).
    """
    if settings.redis_url is not None:
        return Windows(_opened(settings, settings.redis_url.get_secret_value()))
    if data_dir is None:
        return Windows()
    try:
        require_redis()
        joined = await _joined(data_dir)
    except ConfigurationError as error:
        _logger.warning("conversations have no window: code=%s", error.code)
        return Windows()
    return Windows(_opened(settings, joined.url, joined.revive), joined)


def _opened(settings: Settings, url: str, revive: Callable[[], None] | None = None) -> WindowStore:
    bounds = Bounds(settings.window_turns, settings.window_bytes, settings.window_ttl)
    return open_store(
        url,
        bounds,
        connections=settings.redis_connections,
        timeout=settings.redis_timeout,
        revive=revive,
    )


async def _joined(data_dir: Path) -> JoinedValkey:
    """Join off the event loop; whoever is cancelled meanwhile leaves what the thread has joined."""
    work = asyncio.get_running_loop().run_in_executor(None, join_valkey, data_dir)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        with suppress(MnemicError):
            await asyncio.to_thread((await work).leave)
        raise
