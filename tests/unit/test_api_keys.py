"""What does an API key look like, and what is kept of it?"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mnemic.access.apikeys import Holder, LocalKey, new_key, parsed, secret_mac

HERE, THERE = "0192f1c0-0000-7000-8000-000000000001", "0192f1c0-0000-7000-8000-000000000002"


def test_a_new_key_names_its_prefix_and_holds_32_random_bytes() -> None:
    made = [new_key() for _ in range(200)]
    assert len({text for text, _ in made}) == len({prefix for _, prefix in made}) == 200
    for text, prefix in made:
        assert re.fullmatch(r"mk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}", text)
        found = parsed(text)
        assert found is not None
        assert found[0] == prefix
        assert len(found[1]) == 43  # 32 bytes in base64


def test_what_is_kept_opens_nothing_in_another_deployment() -> None:
    found = parsed(new_key()[0])
    assert found is not None
    kept = secret_mac(HERE, *found)
    assert len(kept) == 32
    assert kept == secret_mac(HERE, *found)
    assert kept != secret_mac(THERE, *found)
    assert kept != secret_mac(HERE, "aaaaaaaa", found[1])
    assert found[1].encode() not in kept


def test_a_changed_character_is_another_key() -> None:
    text, _ = new_key()
    found = parsed(text)
    assert found is not None
    for place in range(len("mk_aaaaaaaa_"), len(text)):
        other = "A" if text[place] != "A" else "B"
        changed = parsed(text[:place] + other + text[place + 1 :])
        assert changed is not None
        assert secret_mac(HERE, *changed) != secret_mac(HERE, *found)


@given(st.text(max_size=80))
def test_nothing_but_a_key_is_read_as_one(text: str) -> None:
    found = parsed(text)
    if found is not None:
        assert text == f"mk_{found[0]}_{found[1]}"


@given(st.from_regex(r"mk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}", fullmatch=True), st.text(max_size=3))
def test_a_key_with_anything_before_or_behind_it_is_none(key: str, more: str) -> None:
    assert parsed(key) is not None
    if more:
        assert parsed(more + key) is None
        assert parsed(key + more) is None


def test_the_local_key_is_its_users_own() -> None:
    assert LocalKey("aaaaaaaa", bytes(32), "kim").holder == Holder(
        "aaaaaaaa", "user", "kim", frozenset({"read", "write", "admin"})
    )
