"""Which ids name somebody, and can two people ever share a scope?"""

from __future__ import annotations

import dataclasses
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.model import SCOPE_PRIORITY, SCOPES, Actor, clean_id
from mnemic.permissions import home, readable

ANY = st.text(max_size=20)
ODD = st.text(st.sampled_from("kim_1A%/,':. ｋK\u00e9e\u0301"), min_size=1, max_size=8)
INVISIBLE = [
    "\u206a", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u0000", "\u0007", "\u2028",
    "\u3164", "\u115f", "\u034f", "\ufe0f", "\u2800", "\U000e0041", "\u00a0", "\u3000", "\t", "\ud800",
]  # fmt: skip


def valid(text: str) -> bool:
    try:
        clean_id(text, "user")
    except InvalidInput:
        return False
    return True


@given(ANY | ODD)
def test_an_id_is_canonical_trimmed_and_short_or_refused(text: str) -> None:
    if valid(text):
        cleaned = clean_id(text, "user")
        assert cleaned == unicodedata.normalize("NFC", text).strip()
        assert clean_id(cleaned, "user") == cleaned
        assert 1 <= len(cleaned) <= 128


@pytest.mark.parametrize("char", INVISIBLE)
def test_pf_034_an_id_with_something_invisible_inside_is_refused(char: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Actor(f"ali{char}ce")
    assert caught.value.code == "invalid_id"
    assert char not in str(caught.value)


def test_pf_070_white_space_around_an_id_does_not_make_another() -> None:
    assert Actor(" kim\n") == Actor("kim")
    assert Actor("kim", session="s1 ").scope_keys == Actor("kim", session="s1").scope_keys
    assert Actor("e\u0301mile").user_scope == Actor("\u00e9mile").user_scope


@pytest.mark.parametrize("value", ["", "  ", "\n", "x" * 129, None, 7, b"kim", ["kim"]])
def test_what_is_no_id_is_refused(value: Any) -> None:
    for field in ("user", "project", "session", "agent"):
        if value is not None or field == "user":
            with pytest.raises(InvalidInput) as caught:
                Actor(**{"user": "kim", field: value})
            assert caught.value.code == "invalid_id"
            assert caught.value.details == {"what": field}


def test_the_longest_id_is_taken() -> None:
    assert Actor("界" * 128).user == "界" * 128


@given(ODD.filter(valid), ODD.filter(valid), ODD.filter(valid), ODD.filter(valid))
def test_other_names_never_share_a_scope_key(a: str, b: str, s: str, t: str) -> None:
    one, other = Actor(a, project=s, session=s), Actor(b, project=t, session=t)
    assert (one.user_scope == other.user_scope) == (one.user == other.user)
    assert (one.project_scope == other.project_scope) == (one.project == other.project)
    assert (one.session_scope == other.session_scope) == (
        (one.user, one.session) == (other.user, other.session)
    )
    assert len({one.user_scope, one.project_scope, one.session_scope}) == 3


@given(ODD.filter(valid), ODD.filter(valid), ODD.filter(valid))
def test_the_prefix_of_a_users_sessions_covers_no_other_user(a: str, b: str, s: str) -> None:
    one, other = Actor(a, session=s), Actor(b, session=s)
    assert one.session_scope is not None
    assert other.session_scope is not None
    assert one.session_scope.startswith(one.session_prefix)
    assert other.session_scope.startswith(one.session_prefix) == (one.user == other.user)


@given(ODD.filter(valid), ODD.filter(valid))
def test_scope_keys_hold_no_separator_of_the_database_setting(user: str, session: str) -> None:
    for key in Actor(user, session=session).scope_keys:
        assert not set(key) & set(",'\\ \"")
        assert key.isascii()


def test_an_actor_is_frozen_and_has_only_scopes_of_its_own() -> None:
    actor = Actor("kim", project="apollo")
    assert actor.scope_keys == ("user:kim",)
    assert actor.session_scope is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        actor.user = "lee"  # type: ignore[misc]


def test_the_nearer_scope_weighs_more() -> None:
    assert SCOPE_PRIORITY == {"session": 1.0, "project": 0.8, "user": 0.6}
    assert set(SCOPE_PRIORITY) == set(SCOPES)


def test_where_an_item_lives_and_where_an_actor_asks() -> None:
    actor = Actor("kim", project="apollo", session="s/1")
    assert home(actor, "user") == ("user:kim", "kim")
    assert home(actor, "session") == ("session:kim/s%2F1", "s/1")
    assert home(actor, "project") == ("project:apollo", "apollo")
    assert readable(actor) == ["user:kim", "session:kim/s%2F1", "project:apollo"]
    assert readable(Actor("kim", session="s/1")) == ["user:kim", "session:kim/s%2F1"]
    assert readable(actor, "user") == ["user:kim"]
    assert readable(actor, "project") == ["project:apollo"]


@pytest.mark.parametrize(
    ("scope", "code"), [("session", "session_required"), ("project", "project_required")]
)
def test_a_scope_that_the_actor_does_not_name_is_an_error(scope: Any, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        home(Actor("kim"), scope)
    assert caught.value.code == code


def test_an_unknown_scope_is_an_error_and_no_empty_answer() -> None:
    with pytest.raises(InvalidInput) as caught:
        readable(Actor("kim"), "team")  # type: ignore[arg-type]
    assert caught.value.code == "unknown_scope"
