"""Where does the key of keys lie when there is no vault? In one file outside the data directory.

Mode 0600, made on first use, and replaced as a whole by a rotation, which adds a key, and by the end of a key
epoch, which takes the earlier ones out. At every use it is read again if it changed: so running services
learn of a new key. A file that others can read is refused: whoever read it could open every data key in a
stolen database.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import platformdirs

from mnemic.crypto import KEY_BYTES, new_secret, unwrap, wrap
from mnemic.errors import ConfigurationError, Conflict, KeyUnavailable

_VERSION = 2
"""Version 1 had no version, and nothing but the current key and the keys."""


def default_key_file(deployment: UUID) -> Path:
    """Return where the key of a deployment lies unless ``MNEMIC_KEY_FILE`` names another place."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/etc/mnemic/keys") / f"{deployment}.key"
    folder = platformdirs.user_config_path("mnemic") / "keys"
    if folder.is_relative_to(platformdirs.user_data_path("mnemic", appauthor=False)):
        folder = platformdirs.user_config_path("mnemic-keys")  # macOS has one place for both
    return folder / f"{deployment}.key"


@dataclass(frozen=True, slots=True)
class _Content:
    """What stands in the file: ``destroyed`` tells when a key went, ``claims`` which deployments use one."""

    current: str
    keys: Mapping[str, bytes] = field(repr=False)
    destroyed: Mapping[str, str]
    claims: Mapping[str, tuple[str, ...]]

    def claimed(self, kek_id: str, deployment: UUID | None) -> _Content:
        """Return the same with a deployment that uses a key."""
        if deployment is None:
            return self
        users = {*self.claims.get(kek_id, ()), str(deployment)}
        return replace(self, claims={**self.claims, kek_id: tuple(sorted(users))})

    def with_new_key(self, deployment: UUID | None) -> _Content:
        """Return the same with one more key, which is the current one."""
        name = secrets.token_hex(8)
        fresh = replace(self, current=name, keys={**self.keys, name: new_secret()})
        return fresh.claimed(name, deployment)

    def released(self, kek_id: str, deployment: UUID | None) -> _Content:
        """Return the same without a key, or with it while other deployments use it."""
        others = tuple(user for user in self.claims.get(kek_id, ()) if user != str(deployment))
        if others:
            return replace(self, claims={**self.claims, kek_id: others})
        return replace(
            self,
            keys={name: key for name, key in self.keys.items() if name != kek_id},
            destroyed={**self.destroyed, kek_id: datetime.now(UTC).isoformat(timespec="seconds")},
            claims={name: users for name, users in self.claims.items() if name != kek_id},
        )

    def to_json(self) -> str:
        keys = {name: _encode(key) for name, key in self.keys.items()}
        value = {"version": _VERSION, "current": self.current, "keys": keys}
        return json.dumps(value | {"destroyed": self.destroyed, "claims": self.claims})


_NEW = _Content("", {}, {}, {})


class KeyFile:
    """The KeyProvider that a single machine needs.

    With a ``deployment`` the file remembers which keys that deployment uses, so that another one with the
    same file cannot destroy them.
    """

    def __init__(self, path: Path, deployment: UUID | None = None) -> None:
        self.path = path
        self._deployment = deployment
        self._seen: tuple[tuple[int, ...], _Content] | None = None

    def __repr__(self) -> str:
        return f"KeyFile({str(self.path)!r})"

    async def create(self) -> str:
        """Return the id of the current key; a missing file is made, and never over an existing one."""
        try:
            found = self._read()
        except KeyUnavailable as error:
            if error.code != "key_file_missing":
                raise
            self._make()
            found = self._read()
        if found.claimed(found.current, self._deployment) != found:
            found = await self._change(lambda old: old.claimed(old.current, self._deployment))
        return found.current

    async def renew(self, kek_id: str) -> str:
        """Return the id of a key newer than ``kek_id``, which is made unless it is there already."""

        def renewed(old: _Content) -> _Content:
            if kek_id not in old.keys:
                raise self._unknown(kek_id, old)
            if old.current == kek_id:
                return old.claimed(kek_id, self._deployment).with_new_key(self._deployment)
            return old.claimed(old.current, self._deployment)

        return (await self._change(renewed)).current

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all keys in the file, the current one last."""
        found = self._read()
        return (*(name for name in found.keys if name != found.current), found.current)

    async def destroy(self, kek_id: str) -> None:
        """Take a key out of the file; one that is gone already is no error.

        Raises Conflict: ``kek_in_use`` for the current key, ``kek_shared`` for one that another deployment
        uses too. The last of them to destroy it does.
        """

        def without(old: _Content) -> _Content:
            if kek_id not in old.keys:
                return old
            if kek_id == old.current:
                raise Conflict("kek_in_use", "The current key is in use: rotate the keys first.")
            return old.released(kek_id, self._deployment)

        if kek_id in (await self._change(without)).keys:
            raise Conflict(
                "kek_shared",
                f"Another deployment uses the key {kek_id} in {self.path} too: run `mnemic keys"
                " close-epoch` there, then here again; and give each a key file of its own.",
            )

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        """Return ``secret`` encrypted under the key ``kek_id``."""
        return wrap(self._key(kek_id), secret, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Undo ``wrap``."""
        return unwrap(self._key(kek_id), wrapped, context)

    def _key(self, kek_id: str) -> bytes:
        found = self._read()
        if kek_id not in found.keys:
            raise self._unknown(kek_id, found)
        return found.keys[kek_id]

    def _unknown(self, kek_id: str, found: _Content) -> KeyUnavailable:
        if kek_id in found.destroyed:
            return KeyUnavailable(
                "kek_destroyed",
                f"The key of this data ({kek_id}) was destroyed at {found.destroyed[kek_id]}, when its"
                " key epoch closed: this copy of the data is older and cannot be read any more; use"
                " a newer one.",
            )
        return KeyUnavailable(
            "unknown_kek",
            f"The key file {self.path} does not hold the key of this data ({kek_id});"
            " put the right file there or name it in MNEMIC_KEY_FILE.",
        )

    async def _change(self, change: Callable[[_Content], _Content]) -> _Content:
        """Replace the file by what ``change`` makes of it; who comes at the same time waits."""
        return await asyncio.to_thread(self._changed, change)

    def _changed(self, change: Callable[[_Content], _Content]) -> _Content:
        self._read()  # tells a missing or foreign file before anything is locked
        place = self.path.resolve()
        with self._writing(), _locked(place.parent):
            old = self._read()
            new = change(old)
            if new != old:
                status = place.stat()
                with _draft(place, new.to_json()) as draft:
                    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                        os.chown(draft, status.st_uid, status.st_gid)
                    draft.replace(place)
                _sync(place.parent)
        return new

    def _make(self) -> None:
        content = _NEW.with_new_key(self._deployment).to_json()
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # fails when another process was first: then its key counts
            with _draft(self.path, content) as draft, suppress(FileExistsError):
                os.link(draft, self.path)
            _sync(self.path.parent)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigurationError(
                "key_file_unwritable",
                f"The key file {self.path} cannot be written ({error.strerror}):"
                " name a writable place in MNEMIC_KEY_FILE.",
            ) from error

    def _read(self) -> _Content:
        try:
            status = self.path.stat()
            mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            known = self._seen if self._seen is not None and self._seen[0] == mark else None
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "it is no file")  # to read a pipe would wait for ever
            data = b"" if known else self.path.read_bytes()
        except FileNotFoundError:
            raise KeyUnavailable(
                "key_file_missing",
                f"There is data, but its key file {self.path} is missing: restore it from your backup"
                " or name its place in MNEMIC_KEY_FILE. Without it nothing can be read.",
            ) from None
        except OSError as error:
            raise KeyUnavailable(
                "key_file_unreadable",
                f"The key file {self.path} cannot be read ({error.strerror}).",
            ) from error
        if status.st_mode & 0o077:
            raise KeyUnavailable(
                "key_file_exposed",
                f"Others can read the key file {self.path}: run chmod 600 on it, and rotate the key"
                " if they may have.",
            )
        found = known[1] if known else self._parse(data)
        self._seen = (mark, found)
        return found

    def _parse(self, content: bytes) -> _Content:
        try:
            data = json.loads(content)
            newer = isinstance(data, dict) and int(data.get("version", 1)) > _VERSION
            found = _NEW if newer else _content(data)
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            newer, found = False, _NEW
        if newer:
            raise KeyUnavailable(
                "key_file_too_new",
                f"A newer Mnemic wrote the key file {self.path}; upgrade this installation.",
            )
        if found.current not in found.keys or any(len(k) != KEY_BYTES for k in found.keys.values()):
            raise KeyUnavailable(
                "key_file_damaged", f"{self.path} is not a key file; restore it from your backup."
            )
        return found


def _content(data: Mapping[str, Mapping[str, str]]) -> _Content:
    return _Content(
        str(data["current"]),
        {str(name): base64.b64decode(key, validate=True) for name, key in data["keys"].items()},
        {str(name): str(at) for name, at in data.get("destroyed", {}).items()},
        {str(name): tuple(map(str, users)) for name, users in data.get("claims", {}).items()},
    )


def _encode(secret: bytes) -> str:
    return base64.b64encode(secret).decode("ascii")


@contextmanager
def _draft(place: Path, content: str) -> Iterator[Path]:
    """A complete file beside ``place``, which is gone afterwards unless it was moved there."""
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        _write(draft, content)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Let one process at a time change files here; a lock on the directory leaves no file behind."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    """Make a new name last: data whose key file a power cut took back could never be read."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
