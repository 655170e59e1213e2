"""What is a cold store? A place outside the database for sealed values that nobody has needed for long.

Any object with these coroutines is one; ``objects`` has the one of files and of S3, ``opening`` makes it
of the settings.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from mnemic.errors import StorageError, StorageUnavailable

__all__ = ["ColdStore", "lost", "not_configured", "unreachable"]


@runtime_checkable
class ColdStore(Protocol):
    """Keeps bytes by name. A name is 33 characters of ``a-z0-9/``, is random and is never used twice.

    Only the ``owner``'s mark is put again under its name. What is given to it is sealed: the store learns
    sizes and times. Each method waits for its own timeout at
    most, and raises StorageUnavailable (``cold_store_unreachable``) where the store does not do it in time.
    """

    async def put(self, name: str, data: bytes) -> None:
        """Keep ``data`` (1 byte to some megabytes) under ``name``; it is durable when this returns."""

    async def get(self, name: str) -> bytes:
        """Return what was put. Raises StorageError (``cold_object_lost``) where there is no such object."""

    async def delete(self, name: str) -> None:
        """Remove an object for good; that there is none is no error."""

    async def aclose(self) -> None:
        """Let connections go; idempotent."""


def lost() -> StorageError:
    """Return the error of an object that the store does not have."""
    return StorageError(
        "cold_object_lost",
        "The archive of this profile is not in the cold store: bring the object back from a backup, or give"
        " it up with `mnemic profile wake --abandon`.",
    )


def unreachable() -> StorageUnavailable:
    """Return the error of a store that does not answer."""
    return StorageUnavailable(
        "cold_store_unreachable",
        "The cold store does not answer, or takes no more: check MNEMIC_COLD_STORE, its space and the"
        " network, and try again.",
    )


def not_configured() -> StorageUnavailable:
    """Return the error of a process that was not told where the objects are."""
    return StorageUnavailable(
        "cold_store_missing",
        "Objects of this deployment lie in a cold store: set MNEMIC_COLD_STORE to where they are.",
    )
