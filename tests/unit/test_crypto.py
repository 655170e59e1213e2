"""Does a sealed value open only with its key and in its place, and does a blind word tell nothing?"""

from __future__ import annotations

import hmac
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.crypto import (
    KEY_BYTES,
    LEXEME_BYTES,
    DataKey,
    derive,
    new_secret,
    place,
    sealed_with,
    unwrap,
    wrap,
)
from mnemic.errors import KeyUnavailable

KEY = DataKey(UUID(int=7), b"k" * KEY_BYTES)
OTHER = DataKey(UUID(int=8), b"o" * KEY_BYTES)
AT = place("memory_item", "user:kim", UUID(int=1), "content", 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)
PARTS = st.text(st.characters(codec="utf-8"), max_size=6)


@given(TEXTS)
def test_what_was_sealed_opens_again(text: str) -> None:
    sealed = KEY.seal(text, AT)
    assert KEY.open(sealed, AT) == text
    assert sealed_with(sealed) == KEY.key_id
    assert len(sealed) == 16 + 12 + len(text.encode()) + 16


@given(TEXTS)
def test_a_lexeme_is_the_beginning_of_a_keyed_hash(word: str) -> None:
    index = derive(b"k" * KEY_BYTES, "mnemic/lexemes")
    wanted = hmac.digest(index, word.encode(), "sha256")[:LEXEME_BYTES].hex()
    assert [KEY.lexeme(word), KEY.lexeme(word)] == [wanted] * 2


@given(TEXTS)
def test_the_same_text_is_sealed_differently_each_time(text: str) -> None:
    assert KEY.seal(text, AT) != KEY.seal(text, AT)


@given(st.text("abcd", min_size=4), st.data())
def test_one_changed_bit_anywhere_is_noticed(text: str, data: st.DataObject) -> None:
    sealed = bytearray(KEY.seal(text, AT))
    position = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[position // 8] ^= 1 << position % 8
    with pytest.raises(KeyUnavailable) as caught:
        KEY.open(bytes(sealed), AT)
    assert caught.value.code == ("unknown_key_id" if position < 16 * 8 else "sealed_value_damaged")


@pytest.mark.parametrize(
    "other",
    [
        place("message", "user:kim", UUID(int=1), "content", 1),
        place("memory_item", "user:lee", UUID(int=1), "content", 1),
        place("memory_item", "user:kim", UUID(int=2), "content", 1),
        place("memory_item", "user:kim", UUID(int=1), "reason", 1),
        place("memory_item", "user:kim", UUID(int=1), "content", 2),
    ],
)
def test_a_value_moved_to_another_place_does_not_open(other: bytes) -> None:
    with pytest.raises(KeyUnavailable) as caught:
        KEY.open(KEY.seal("a secret", AT), other)
    assert caught.value.code == "sealed_value_damaged"


@given(st.tuples(PARTS, PARTS, PARTS, PARTS), st.tuples(PARTS, PARTS, PARTS, PARTS))
def test_places_are_equal_only_when_all_parts_are(
    one: tuple[str, ...], two: tuple[str, ...]
) -> None:
    assert (_place(one) == _place(two)) == (one == two)


def _place(parts: tuple[str, ...]) -> bytes:
    table, scope_key, row, column = parts
    return place(table, scope_key, row, column)


@given(st.binary(max_size=43))
def test_what_is_too_short_is_damaged(data: bytes) -> None:
    with pytest.raises(KeyUnavailable) as caught:
        KEY.open(data, AT)
    assert caught.value.code == "sealed_value_damaged"


def test_another_key_does_not_open_even_under_the_same_id() -> None:
    twin = DataKey(KEY.key_id, b"t" * KEY_BYTES)
    with pytest.raises(KeyUnavailable) as caught:
        twin.open(KEY.seal("a secret", AT), AT)
    assert caught.value.code == "sealed_value_damaged"
    with pytest.raises(KeyUnavailable) as caught:
        OTHER.open(KEY.seal("a secret", AT), AT)
    assert caught.value.code == "unknown_key_id"


@given(TEXTS, TEXTS)
def test_blind_words_and_hashes_are_equal_only_within_one_key(a: str, b: str) -> None:
    assert (KEY.mac(a) == KEY.mac(b)) == (a == b)
    assert (KEY.lexeme(a) == KEY.lexeme(b)) == (a == b)
    assert KEY.mac(a) != OTHER.mac(a)
    assert KEY.lexeme(a) != OTHER.lexeme(a)
    assert len(KEY.mac(a)) == 32
    assert len(bytes.fromhex(KEY.lexeme(a))) == LEXEME_BYTES


def test_a_lexeme_is_no_prefix_of_the_hash_of_equality() -> None:
    assert not KEY.mac("coffee").hex().startswith(KEY.lexeme("coffee"))


def test_each_use_has_a_key_of_its_own() -> None:
    secret = new_secret()
    derived = {
        derive(secret, label) for label in ("mnemic/content", "mnemic/lexemes", "mnemic/equality")
    }
    assert len(derived | {secret}) == 4
    assert derive(secret, "a") == derive(secret, "a")
    assert {len(key) for key in derived} == {KEY_BYTES}


def test_secrets_are_random_and_show_nowhere() -> None:
    secret = new_secret()
    assert len(secret) == KEY_BYTES
    assert secret != new_secret()
    key = DataKey(uuid4(), secret)
    assert repr(key) == f"DataKey({key.key_id})"
    assert secret.hex() not in repr(vars(type(key)))
    with pytest.raises(AttributeError):
        key.secret  # type: ignore[attr-defined]  # noqa: B018


@given(st.binary(min_size=1, max_size=64), st.binary(max_size=20))
def test_a_wrapped_secret_opens_with_its_key_and_context_only(
    secret: bytes, context: bytes
) -> None:
    kek = b"e" * KEY_BYTES
    wrapped = wrap(kek, secret, context)
    assert unwrap(kek, wrapped, context) == secret
    assert secret not in wrapped or len(secret) < 4
    for key, other in ((b"f" * KEY_BYTES, context), (kek, context + b"x")):
        with pytest.raises(KeyUnavailable) as caught:
            unwrap(key, wrapped, other)
        assert caught.value.code == "wrong_key"


@pytest.mark.parametrize("length", [0, 1, 7, 11, 12, 27])
def test_a_wrapped_secret_cut_short_is_a_wrong_key(length: int) -> None:
    kek = b"e" * KEY_BYTES
    with pytest.raises(KeyUnavailable) as caught:
        unwrap(kek, wrap(kek, b"s" * KEY_BYTES, b"")[:length], b"")
    assert caught.value.code == "wrong_key"
