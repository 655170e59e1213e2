"""How do objects get into a directory or a bucket? Through obstore, one client for both.

Bytes go to the one endpoint that was allowed, and nowhere else: proxies of the environment are not asked, and
a redirect to another host ends at the endpoint itself.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, S3Store

from mnemic.cold import lost, unreachable
from mnemic.errors import ConfigurationError, StorageError, StorageUnavailable

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Store

_RETRIES = 2
_PRIVATE = 0o700
_MARK = ".mnemic-cold"
"""A file that a directory has once an object was put there: without it another one is mounted, or none."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where objects lie in S3, or in what speaks like it; ``endpoint`` is its URL without the bucket."""

    name: str
    prefix: str
    endpoint: str
    region: str
    key_id: str
    secret: str
    token: str | None = None
    ca: bytes | None = None


class Objects:
    """A cold store of files or of a bucket."""

    def __init__(self, store: Store, timeout: float, root: Path | None = None) -> None:
        self._store = store
        self._timeout = timeout
        self._root = root

    @classmethod
    def in_directory(cls, root: Path, timeout: float) -> Objects:
        """Return the store of a directory, which is made for this login alone.

        Raises ConfigurationError (``cold_store_unusable``).
        """
        try:
            root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(root)
        except OSError as error:
            raise ConfigurationError(
                "cold_store_unusable",
                "MNEMIC_COLD_STORE names a directory that cannot be written to: make it, for this login.",
            ) from error
        return cls(LocalStore(root), timeout, root)

    @classmethod
    def in_bucket(cls, bucket: Bucket, timeout: float) -> Objects:
        """Return the store of a bucket; nothing is sent yet."""
        host = urlsplit(bucket.endpoint).hostname or ""
        store = S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            config={
                "endpoint": bucket.endpoint,
                "region": bucket.region,
                "access_key_id": bucket.key_id,
                "secret_access_key": bucket.secret,
                **({"session_token": bucket.token} if bucket.token else {}),
                "virtual_hosted_style_request": False,
            },
            client_options={
                "allow_http": bucket.endpoint.startswith("http:"),
                "timeout": timedelta(seconds=timeout),
                "connect_timeout": timedelta(seconds=min(timeout, 5.0)),
                # whatever is not for the endpoint goes to it all the same, and not where a redirect says
                "proxy_url": bucket.endpoint,
                "proxy_excludes": host,
                **({"root_certificate": bucket.ca} if bucket.ca else {}),
            },
            retry_config={
                "max_retries": _RETRIES,
                "retry_timeout": timedelta(seconds=timeout),
            },
        )
        return cls(store, timeout)

    async def put(self, name: str, data: bytes) -> None:
        """Keep ``data`` under ``name``; of a file, the disk has it when this returns."""
        if self._root is not None:
            await asyncio.to_thread(_mark, self._root)
        try:
            await self._done(obstore.put_async(self._store, name, data))
        except StorageError as error:
            raise unreachable() from error  # whatever is not there, the object was not expected to be
        if self._root is not None:
            await asyncio.to_thread(_settle, self._root, name)

    async def get(self, name: str) -> bytes:
        """Return an object."""

        async def read() -> bytes:
            return bytes(await (await obstore.get_async(self._store, name)).bytes_async())

        return await self._done(read())

    async def delete(self, name: str) -> None:
        """Remove an object."""
        try:
            await self._done(obstore.delete_async(self._store, name))
        except StorageUnavailable:
            raise
        except StorageError:
            return  # it is gone already

    async def aclose(self) -> None:
        """The client closes with its last reference."""

    async def _done(self, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                return await work
        except (NotFoundError, FileNotFoundError) as error:
            # without its bucket or directory the store is away, and nothing is lost yet
            unmarked = self._root is not None and not (self._root / _MARK).is_file()
            away = "NoSuchBucket" in str(error) or unmarked
            raise (unreachable() if away else lost()) from None
        except (BaseError, OSError, TimeoutError):
            raise unreachable() from None


def _mark(root: Path) -> None:
    """Mark a directory as a store that holds objects."""
    try:
        (root / _MARK).touch(mode=0o600)
    except OSError as error:
        raise unreachable() from error


def _settle(root: Path, name: str) -> None:
    """Have a new file, and the names that lead to it, on the disk, for this login alone."""
    path = root / name
    path.chmod(0o600)
    places = [path, *path.parents]
    for place in places[: places.index(root) + 1]:
        if place.is_dir():
            place.chmod(_PRIVATE)
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
