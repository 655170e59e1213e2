"""How is a value sealed, opened and searched without being read?

Pure functions over bytes. A sealed value is ``key id (16) | nonce (12) | AES-256-GCM ciphertext and tag``;
its associated data names table, scope, row, column and version, so that a value moved to another place does
not open. Words and hashes are HMAC-SHA256 under keys derived from the data key (HKDF, one label a use).
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from functools import cache
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemic.errors import KeyUnavailable

KEY_BYTES = 32
_ID = 16
_NONCE = 12
_LEAST = _ID + _NONCE + 16
LEXEME_BYTES = 8


def new_secret() -> bytes:
    """Return 32 random bytes."""
    return os.urandom(KEY_BYTES)


def derive(secret: bytes, label: str) -> bytes:
    """Return a 32-byte key for one use of ``secret``; other labels tell nothing about it."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=label.encode()).derive(secret)


def place(table: str, scope_key: str, row: object, column: str, version: int = 1) -> bytes:
    """Return the associated data of one value. Parts cannot run into each other: each is length-prefixed."""
    return _table(table) + _part(scope_key) + _part(row) + _part(column) + _part(version)


def _part(value: object) -> bytes:
    part = str(value).encode()
    return len(part).to_bytes(4, "big") + part


@cache
def _table(name: str) -> bytes:
    """Return the part of a table: there are few, and places are made all the time."""
    return _part(name)


def _keyed(key: bytes) -> tuple[hashlib._Hash, hashlib._Hash]:
    """Return the two hashes that HMAC-SHA256 begins with (RFC 2104); the key is shorter than a block."""
    block = key.ljust(hashlib.sha256().block_size, b"\0")
    inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))
    return inner, outer


class DataKey:
    """One data key with everything derived from it; its secret never shows in a repr or a log."""

    __slots__ = ("_cipher", "_inner", "_mac", "_outer", "key_id")

    def __init__(self, key_id: UUID, secret: bytes) -> None:
        self.key_id = key_id
        self._cipher = AESGCM(derive(secret, "mnemic/content"))
        self._inner, self._outer = _keyed(derive(secret, "mnemic/lexemes"))
        self._mac = derive(secret, "mnemic/equality")

    def __repr__(self) -> str:
        return f"DataKey({self.key_id})"

    def seal(self, text: str, at: bytes) -> bytes:
        """Return ``text`` sealed for the place ``at``."""
        return self.seal_bytes(text.encode(), at)

    def seal_bytes(self, data: bytes, at: bytes) -> bytes:
        """The same of what is no text."""
        nonce = os.urandom(_NONCE)
        sealed = self._cipher.encrypt(nonce, data, at)
        return self.key_id.bytes + nonce + sealed

    def open(self, sealed: bytes, at: bytes) -> str:
        """Return the text of ``sealed``; raises as ``open_bytes``."""
        return self.open_bytes(sealed, at).decode()

    def open_bytes(self, sealed: bytes, at: bytes) -> bytes:
        """Return what ``sealed`` holds.

        Raises KeyUnavailable: ``unknown_key_id`` when another key sealed it, ``sealed_value_damaged`` when
        the bytes were changed or belong to another place.
        """
        if len(sealed) < _LEAST or sealed[:_ID] != self.key_id.bytes:
            sealed_with(sealed)  # a value that is too short is of no key at all
            raise KeyUnavailable(
                "unknown_key_id",
                "A value was sealed with a key that is not at hand; restore data_key from a backup.",
            )
        nonce, body = sealed[_ID : _ID + _NONCE], sealed[_ID + _NONCE :]
        try:
            return self._cipher.decrypt(nonce, body, at)
        except InvalidTag:
            raise KeyUnavailable(
                "sealed_value_damaged",
                "A sealed value was changed or moved; restore it from a backup.",
            ) from None

    def lexeme(self, token: str) -> str:
        """Return the blind form of one word: 8 bytes of HMAC-SHA256, in hexadecimal."""
        word = self._inner.copy()  # the key is in it already, which takes longer than the word
        word.update(token.encode())
        whole = self._outer.copy()
        whole.update(word.digest())
        return whole.digest()[:LEXEME_BYTES].hex()

    def mac(self, text: str) -> bytes:
        """Return the 32-byte keyed hash by which equal texts of one scope are found."""
        return hmac.digest(self._mac, text.encode(), "sha256")


class ProjectKey(DataKey):
    """The keys of a project as one: found by the project's own, sealed by an author's, opened by whichever.

    ``author`` is None for somebody who only reads: nothing can be sealed then.
    """

    __slots__ = ("_all", "_authors", "author")

    def __init__(
        self,
        own: DataKey,
        every: Iterable[DataKey],
        authors: Mapping[str, DataKey],
        author: str | None,
    ) -> None:
        self.key_id = own.key_id
        self._cipher, self._mac = own._cipher, own._mac
        self._inner, self._outer = own._inner, own._outer
        self._all = {key.key_id: key for key in (own, *every)}
        self._authors = authors
        self.author = author

    def by(self, author: str) -> ProjectKey:
        """Return the same keys, to seal what belongs to this author; the project's own stands in for none."""
        own = self._all[self.key_id]
        return ProjectKey(own, self._all.values(), {author: own, **self._authors}, author)

    def seal_bytes(self, data: bytes, at: bytes) -> bytes:
        """Return ``data`` sealed by the author's key. Raises KeyUnavailable (``data_key_missing``)."""
        key = None if self.author is None else self._authors.get(self.author)
        if key is None:
            raise KeyUnavailable("data_key_missing", "This actor has no key in this project.")
        return key.seal_bytes(data, at)

    def open_bytes(self, sealed: bytes, at: bytes) -> bytes:
        """Return what ``sealed`` holds, whoever of the project sealed it; raises as of a DataKey."""
        return DataKey.open_bytes(self._all.get(sealed_with(sealed), self), sealed, at)


def sealed_with(sealed: bytes) -> UUID:
    """Return the id of the key that sealed a value."""
    if len(sealed) < _LEAST:
        raise KeyUnavailable("sealed_value_damaged", "A sealed value is too short to be one.")
    return UUID(bytes=bytes(sealed[:_ID]))


def wrap(kek: bytes, secret: bytes, context: bytes) -> bytes:
    """Return ``secret`` encrypted under a key-encryption key, bound to ``context``."""
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(kek).encrypt(nonce, secret, context)


def unwrap(kek: bytes, wrapped: bytes, context: bytes) -> bytes:
    """Undo ``wrap``. Raises KeyUnavailable (``wrong_key``) when key or context is another."""
    try:
        if len(wrapped) < _NONCE:
            raise InvalidTag
        return AESGCM(kek).decrypt(wrapped[:_NONCE], wrapped[_NONCE:], context)
    except InvalidTag:
        raise KeyUnavailable(
            "wrong_key", "The key at hand did not wrap this data key; name the right key file."
        ) from None
