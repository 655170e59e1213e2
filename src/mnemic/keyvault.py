"""Can a HashiCorp Vault keep the key of keys? Its transit engine wraps and unwraps; the key never leaves it.

Each key of keys is a transit key of its own, ``<name>-1``, ``<name>-2`` and so on, so that one can be deleted
while later ones stay. Needs the extra ``vault`` (hvac). Calls run in threads; a Vault that does not answer,
or is sealed for a moment, is asked again before an error is told.
"""

from __future__ import annotations

import asyncio
import base64
import re
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from mnemic.errors import ConfigurationError, Conflict, KeyUnavailable
from mnemic.settings import Settings

_PAUSES = (0.2, 0.8)
"""Seconds to wait before each further attempt."""
_NONE_NEW = "mnemic-makes-none"
"""A type of key that no Vault knows. It would make a key that is asked to encrypt and is not there, and needs
the type for that: so one that was deleted is an error, and not another key under its name."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class VaultKeys:
    """The KeyProvider over the transit engine of a Vault."""

    def __init__(
        self, client: Any, name: str, *, mount: str = "transit", token_file: Path | None = None
    ) -> None:
        """``client`` is an ``hvac.Client``; ``token_file`` is read at every call, since agents renew it."""
        self._client = client
        self._name = name
        self._mount = mount
        self._token_file = token_file
        self._known: set[str] = set()
        weakref.finalize(self, client.adapter.close)

    @classmethod
    def of(cls, settings: Settings, name: str) -> Self:
        """Return the provider that the settings name; ``name`` stands in front of its keys' numbers.

        Raises ConfigurationError (``vault_not_installed``, ``vault_not_tls``).
        """
        try:
            import hvac
        except ModuleNotFoundError:
            raise ConfigurationError(
                "vault_not_installed",
                "Keys in a Vault need the extra: pip install '.[vault]' in the clone.",
            ) from None
        address = settings.vault_addr or ""
        _require_tls(address)
        token = settings.vault_token
        client = hvac.Client(
            url=address,
            token=token.get_secret_value() if token else "",
            verify=str(settings.vault_ca_file) if settings.vault_ca_file else True,
            timeout=settings.vault_timeout,
            namespace=settings.vault_namespace,
        )
        return cls(client, name, mount=settings.vault_mount, token_file=settings.vault_token_file)

    def __repr__(self) -> str:
        return f"VaultKeys({self._name})"

    async def create(self) -> str:
        """Return the id of the current key; the first one is made."""
        found = await self.ids()
        return found[-1] if found else await self._make(1)

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all keys of this name, the current one last."""
        told = await self._ask(
            lambda: self._client.secrets.transit.list_keys(mount_point=self._mount)
        )
        ours = re.compile(re.escape(self._name) + r"-[1-9][0-9]{0,8}")
        names = told["data"]["keys"] if told else []
        found = sorted(filter(ours.fullmatch, names), key=self._number)
        self._known = set(found)
        return tuple(found)

    async def renew(self, kek_id: str) -> str:
        """Return the id of a key newer than ``kek_id``, which is made unless it is there already."""
        found = await self.ids()
        if kek_id not in found:
            raise self._unknown(kek_id)
        return found[-1] if found[-1] != kek_id else await self._make(self._number(kek_id) + 1)

    async def destroy(self, kek_id: str) -> None:
        """Delete a key in the Vault; one that is gone already is no error.

        Raises Conflict (``kek_in_use``) for the current one.
        """
        found = await self.ids()
        if kek_id not in found:
            return
        if kek_id == found[-1]:
            raise Conflict("kek_in_use", "The current key is in use: rotate the keys first.")
        transit = self._client.secrets.transit

        def delete() -> None:
            transit.update_key_configuration(kek_id, deletion_allowed=True, mount_point=self._mount)
            transit.delete_key(kek_id, mount_point=self._mount)

        await self._ask(delete)
        self._known.discard(kek_id)

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        """Return ``secret`` encrypted by the Vault under the key ``kek_id``."""
        if kek_id not in self._known and kek_id not in await self.ids():
            raise self._unknown(kek_id)
        told = await self._ask(
            lambda: self._client.secrets.transit.encrypt_data(
                kek_id,
                plaintext=_encoded(secret),
                associated_data=_encoded(context),
                type=_NONE_NEW,
                mount_point=self._mount,
            ),
            kek_id,
        )
        return str(told["data"]["ciphertext"]).encode("ascii")

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Undo ``wrap``."""
        text = bytes(wrapped).decode("ascii", "replace")
        if not text.startswith("vault:") or not text.isascii():
            if kek_id not in await self.ids():
                raise self._unknown(kek_id)
            raise _wrong_key()
        told = await self._ask(
            lambda: self._client.secrets.transit.decrypt_data(
                kek_id,
                ciphertext=text,
                associated_data=_encoded(context),
                mount_point=self._mount,
            ),
            kek_id,
        )
        return base64.b64decode(told["data"]["plaintext"])

    async def _make(self, number: int) -> str:
        name = f"{self._name}-{number}"
        await self._ask(  # one that is there already stays as it is
            lambda: self._client.secrets.transit.create_key(name, mount_point=self._mount)
        )
        self._known.add(name)
        return name

    def _number(self, kek_id: str) -> int:
        return int(kek_id.removeprefix(f"{self._name}-"))

    def _unknown(self, kek_id: str) -> KeyUnavailable:
        return KeyUnavailable(
            "unknown_kek",
            f"The Vault does not hold the key of this data ({kek_id}): check MNEMIC_VAULT_MOUNT and"
            " MNEMIC_VAULT_NAMESPACE; it is also gone when its key epoch was closed and this copy of"
            " the data is older.",
        )

    async def _ask(self, call: Callable[[], Any], kek_id: str = "") -> Any:
        return await asyncio.to_thread(self._asked, call, kek_id)

    def _asked(self, call: Callable[[], Any], kek_id: str) -> Any:
        from hvac import exceptions as told
        from requests import exceptions as failed

        passing = (
            told.VaultDown,
            told.BadGateway,
            told.InternalServerError,
            told.RateLimitExceeded,
            failed.RequestException,
        )
        self._take_token()
        for pause in (*_PAUSES, None):
            try:
                return call()
            except passing as error:
                if pause is None or isinstance(error, failed.SSLError):
                    raise _away(error) from None
                time.sleep(pause)
            except told.InvalidPath:
                if not kek_id:
                    return None  # a list of nothing
                raise self._unknown(kek_id) from None
            except told.InvalidRequest as error:
                if "not found" in str(error) or _NONE_NEW in str(error):
                    self._known.discard(kek_id)
                    raise self._unknown(kek_id) from None
                raise _wrong_key() from None
            except told.VaultError as error:
                raise _refused(error) from None
        raise AssertionError("unreachable")

    def _take_token(self) -> None:
        if self._token_file is None:
            return
        try:
            token = self._token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise KeyUnavailable(
                "vault_token_unreadable",
                f"The file {self._token_file} with the Vault's token cannot be read.",
            ) from None
        if token != self._client.token:
            self._client.token = token


def _require_tls(address: str) -> None:
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if host and (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
        return
    raise ConfigurationError(
        "vault_not_tls",
        "MNEMIC_VAULT_ADDR must begin with https:// unless the Vault is on this machine.",
    )


def _away(error: Exception) -> KeyUnavailable:
    """Return what to raise for a Vault that did not answer. Its own words may quote a request."""
    from requests import exceptions as failed

    if "sealed" in str(error):
        return KeyUnavailable("vault_sealed", "The Vault is sealed: unseal it; nothing was lost.")
    if isinstance(error, failed.SSLError):
        return KeyUnavailable(
            "vault_untrusted",
            "The Vault's certificate is not trusted here: name its authority in MNEMIC_VAULT_CA_FILE.",
        )
    if isinstance(error, failed.Timeout):
        return KeyUnavailable(
            "vault_timeout",
            "The Vault took too long: look how it does, or raise MNEMIC_VAULT_TIMEOUT.",
        )
    if isinstance(error, failed.RequestException):
        return KeyUnavailable(
            "vault_unreachable",
            "The Vault does not answer: check that it runs and that MNEMIC_VAULT_ADDR is right.",
        )
    return KeyUnavailable(
        "vault_unready", "The Vault answers with an error of its own: look into its log."
    )


def _refused(error: Exception) -> KeyUnavailable:
    from hvac import exceptions as told

    if isinstance(error, told.Forbidden | told.Unauthorized):
        return KeyUnavailable(
            "vault_forbidden",
            "The Vault refused: renew its token, and let its policy allow what"
            " docs/howto/rotate-keys.md lists.",
        )
    return KeyUnavailable("vault_unready", "The Vault gave an answer that makes no sense here.")


def _wrong_key() -> KeyUnavailable:
    return KeyUnavailable("wrong_key", "The Vault's key of this name did not wrap this data key.")


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
