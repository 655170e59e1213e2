"""Where does the key of keys lie when there is no vault? In one file outside the data directory.

``{"current": "<id>", "keys": {"<id>": "<base64>"}}``, mode 0600, made on first use. A file that others can
read is refused: whoever read it could open every data key in a stolen database.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import platformdirs

from mnemic.crypto import KEY_BYTES, new_secret, unwrap, wrap
from mnemic.errors import ConfigurationError, KeyUnavailable


def default_key_file(deployment: UUID) -> Path:
    """Return where the key of a deployment lies unless ``MNEMIC_KEY_FILE`` names another place."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/etc/mnemic/keys") / f"{deployment}.key"
    folder = platformdirs.user_config_path("mnemic") / "keys"
    if folder.is_relative_to(platformdirs.user_data_path("mnemic", appauthor=False)):
        folder = platformdirs.user_config_path("mnemic-keys")  # macOS has one place for both
    return folder / f"{deployment}.key"


class KeyFile:
    """The KeyProvider that a single machine needs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def create(self) -> str:
        """Return the id of the current key; a missing file is made, and never over an existing one."""
        try:
            return self._read()[0]
        except KeyUnavailable as error:
            if error.code != "key_file_missing":
                raise
        self._make()
        return self._read()[0]

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        """Return ``secret`` encrypted under the key ``kek_id``."""
        return wrap(self._key(kek_id), secret, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Undo ``wrap``."""
        return unwrap(self._key(kek_id), wrapped, context)

    def _key(self, kek_id: str) -> bytes:
        keys = self._read()[1]
        if kek_id not in keys:
            raise KeyUnavailable(
                "unknown_kek",
                f"The key file {self.path} does not hold the key of this data ({kek_id});"
                " put the right file there or name it in MNEMIC_KEY_FILE.",
            )
        return keys[kek_id]

    def _make(self) -> None:
        name = secrets.token_hex(8)
        content = json.dumps({"current": name, "keys": {name: _encode(new_secret())}})
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                _write(draft, content)
                # fails when another process was first: then its key counts
                with suppress(FileExistsError):
                    os.link(draft, self.path)
            finally:
                draft.unlink(missing_ok=True)
            _sync(self.path.parent)
        except OSError as error:
            raise ConfigurationError(
                "key_file_unwritable",
                f"The key file {self.path} cannot be made ({error.strerror}):"
                " name a writable place in MNEMIC_KEY_FILE.",
            ) from error

    def _read(self) -> tuple[str, dict[str, bytes]]:
        try:
            status = self.path.stat()
            data = self.path.read_bytes()
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
        return self._parse(data)

    def _parse(self, content: bytes) -> tuple[str, dict[str, bytes]]:
        try:
            data = json.loads(content)
            keys = {
                str(name): base64.b64decode(key, validate=True)
                for name, key in data["keys"].items()
            }
            current = str(data["current"])
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            keys, current = {}, ""
        if current not in keys or any(len(key) != KEY_BYTES for key in keys.values()):
            raise KeyUnavailable(
                "key_file_damaged", f"{self.path} is not a key file; restore it from your backup."
            )
        return current, keys


def _encode(secret: bytes) -> str:
    return base64.b64encode(secret).decode("ascii")


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
