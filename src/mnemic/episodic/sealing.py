"""How does a LangGraph value become sealed bytes, and which types come out of them again?

Values go through LangGraph's msgpack, strictly: only known types are made again, and a value of a type that
is unknown, renamed or not allowed is an error that names it, never None and never a bare dict. Then they are
sealed with AES-256-GCM under the user's data key. The type column says ``msgpack+aes256gcm-<key id>``; the
associated data names the user and the thread, so that a value moved to another thread does not open.
"""

from __future__ import annotations

import base64
import importlib
from collections.abc import Callable, Container, Iterable
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

import ormsgpack
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from mnemic.crypto import DataKey, place
from mnemic.errors import InvalidInput, KeyUnavailable, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

CIPHER = "aes256gcm"
_BASE64, _BYTES = 1, 2
"""How a value lies inside its seal: as base64 text at first, as it is since."""
_CONSTRUCTED = range(6)
"""Codes of LangGraph's msgpack extensions that stand for a class by module and name."""
_PLAIN = (dict, list, tuple, str, int, float, bytes, type(None))


@dataclass(frozen=True, slots=True)
class Whole:
    """A scalar on its way into a sealed value: LangGraph would write it in clear beside the others."""

    value: Any


def wrapped(checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint with scalars as wholes, which LangGraph puts where everything is sealed."""
    copy = checkpoint.copy()
    copy["channel_values"] = {
        name: value if isinstance(value, _DeltaSnapshot) else Whole(value)
        for name, value in checkpoint["channel_values"].items()
    }
    return copy


@dataclass(frozen=True, slots=True)
class Lock:
    """The key that seals and opens now, and the thread that it does so for (its stored id)."""

    key: DataKey
    scope_key: str
    thread_id: str

    def seal(self, data: bytes, what: str = "value") -> bytes:
        """Return ``data`` sealed for this thread, as a value, metadata, a snapshot or an archive."""
        return self.key.seal_bytes(data, self._at(what, _BYTES))

    def open(self, sealed: bytes, what: str = "value") -> bytes:
        """Return what was sealed. Raises KeyUnavailable (``unknown_key_id``, ``sealed_value_damaged``)."""
        given = bytes(sealed)
        try:
            return self.key.open_bytes(given, self._at(what, _BYTES))
        except KeyUnavailable as error:
            if error.code != "sealed_value_damaged":
                raise
        return base64.b64decode(self.key.open_bytes(given, self._at(what, _BASE64)))

    def of(self, thread_id: str) -> Lock:
        """Return the lock of another thread of the same user."""
        return Lock(self.key, self.scope_key, thread_id)

    def _at(self, what: str, version: int) -> bytes:
        return _place(self.scope_key, self.thread_id, what, version)


@lru_cache(1_024)
def _place(scope_key: str, thread_id: str, what: str, version: int) -> bytes:
    return place("checkpoint", scope_key, thread_id, what, version)


@lru_cache(1_024)
def _cipher(key_id: UUID) -> str:
    """Return what stands behind a value's type: how it was sealed, and by which key."""
    return f"{CIPHER}-{key_id}"


_KEYS = ormsgpack.OPT_NON_STR_KEYS
_REFUSED: ContextVar[list[str]] = ContextVar("mnemic_checkpoint_refused")
_LOCK: ContextVar[Lock] = ContextVar("mnemic_checkpoint_lock")


def locked_with(lock: Lock) -> AbstractContextManager[None]:
    """Let values be sealed and opened in here."""

    @contextmanager
    def held() -> Iterator[None]:
        token = _LOCK.set(lock)
        try:
            yield
        finally:
            _LOCK.reset(token)

    return held()


class SealedSerializer(JsonPlusSerializer):
    """LangGraph's serializer, strict, with every value sealed by the lock that is held."""

    def __init__(self, allowed: Iterable[type | tuple[str, ...]] = ()) -> None:
        """``allowed`` are classes of the application's own that may be made again."""
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=tuple(allowed) or None)
        self._unpack_ext_hook = _faithful(self._unpack_ext_hook, self._allowed())

    def with_msgpack_allowlist(
        self, extra_allowlist: Iterable[tuple[str, ...] | type]
    ) -> JsonPlusSerializer:
        """Return a serializer that makes these types too."""
        clone = super().with_msgpack_allowlist(extra_allowlist)
        if clone is not self:
            assert isinstance(clone, SealedSerializer)
            clone._unpack_ext_hook = _faithful(clone._unpack_ext_hook, clone._allowed())
        return clone

    def _allowed(self) -> frozenset[tuple[str, ...]]:
        given = self._allowed_msgpack_modules
        return frozenset(given) if isinstance(given, set) else frozenset()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return type and sealed bytes. Raises InvalidInput (``value_not_serializable``)."""
        lock = _LOCK.get()
        kind, data = self.plain(obj.value if isinstance(obj, Whole) else obj)
        return f"{kind}+{_cipher(lock.key.key_id)}", lock.seal(data)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value. Raises StorageError (``checkpoint_not_sealed``, ``checkpoint_type_unknown``) and
        KeyUnavailable."""
        return self.unplain(*opened(_LOCK.get(), *data))

    def plain(self, obj: Any) -> tuple[str, bytes]:
        """Return type and bytes of a value, not sealed yet."""
        try:
            return super().dumps_typed(obj)
        except (ormsgpack.MsgpackEncodeError, TypeError) as error:
            _, named, kind = str(error).partition("serializable: ")
            raise InvalidInput(
                "value_not_serializable",
                f"A value of type {kind if named else type(obj).__name__} cannot be kept: use plain data,"
                " messages, dataclasses or pydantic models, with whole text and numbers of 64 bits.",
            ) from None

    def unplain(self, kind: str, data: bytes) -> Any:
        """Return the value of type and bytes."""
        if kind not in ("null", "bytes", "bytearray", "msgpack"):
            raise StorageError(
                "checkpoint_newer",
                f"A value of the kind {kind!r} cannot be read: upgrade LangGraph and Mnemic.",
            )
        refused: list[str] = []
        token = _REFUSED.set(refused)  # msgpack swallows what a hook raises
        try:
            value = super().loads_typed((kind, data))
        finally:
            _REFUSED.reset(token)
        if refused:
            raise StorageError(
                "checkpoint_type_unknown",
                f"A checkpoint holds an object of {refused[0]}, which is gone, renamed or not allowed:"
                " bring it back under this name, or allow it with checkpointer(allow=[...]).",
                type=refused[0],
            )
        return value


def opened(lock: Lock, kind: str, sealed: bytes) -> tuple[str, bytes]:
    """Return type and bytes of a sealed value."""
    plain, _, cipher = kind.partition("+")
    if not cipher.startswith(f"{CIPHER}-"):
        raise StorageError(
            "checkpoint_not_sealed", "A checkpoint holds a value that Mnemic did not write."
        )
    if cipher != _cipher(lock.key.key_id):
        raise KeyUnavailable("unknown_key_id", "A value was sealed with a key that is not at hand.")
    return plain, lock.open(sealed)


def _faithful(
    make: Callable[[int, bytes], Any], allowed: Container[tuple[str, ...]]
) -> Callable[[int, bytes], Any]:
    """Note what LangGraph would give back as something else, or not at all, for it cannot make it."""

    def check(code: int, data: bytes) -> None:
        if code in _CONSTRUCTED:
            module, name, *_ = ormsgpack.unpackb(data, ext_hook=check, option=_KEYS)
            known = (module, name) in SAFE_MSGPACK_TYPES or (module, name) in allowed
            if not (known and _importable(module, name)):
                _REFUSED.get().append(f"{module}.{name}")

    def hook(code: int, data: bytes) -> Any:
        check(code, data)
        value = make(code, data)
        if code in _CONSTRUCTED and type(value) in _PLAIN:
            # the class is there, and does not take what was kept of it
            module, name, *_ = ormsgpack.unpackb(data, ext_hook=lambda *_: None, option=_KEYS)
            _REFUSED.get().append(f"{module}.{name}")
        return value

    return hook


def _importable(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False
