"""Do changes of a profile, replayed, come to what it was at each of them? Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mnemic.crypto import DataKey, new_secret
from mnemic.profile.history_changes import (
    Change,
    changed,
    from_lines,
    from_text,
    replayed,
    to_lines,
    to_text,
    told,
    without,
)
from mnemic.profile.history_rows import folded, unfolded
from mnemic.profile.values import Decision, Entry, Field
from mnemic.profile.views import MASKS

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
USERS = st.sampled_from(["kim", "lee", "金"])
ITEMS = st.integers(0, 9).map(lambda number: UUID(int=number))
TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Z", "C")), max_size=20)
ENTRIES = st.lists(st.builds(Entry, TEXTS, st.lists(ITEMS, max_size=3).map(tuple)), max_size=3)
EDITED = st.none() | st.datetimes(timezones=st.just(UTC))
FIELD = st.builds(Field, ENTRIES.map(tuple), EDITED, st.none() | st.just("told"))
NAMES = st.sampled_from(["username", "preferences", "email", "project_goal"])
FIELDS = st.dictionaries(NAMES, FIELD)
DECISION = st.builds(
    Decision, TEXTS, st.none() | TEXTS, st.datetimes(timezones=st.just(UTC)), ITEMS
)
STATES = st.lists(
    st.tuples(FIELDS, st.lists(DECISION, max_size=3, unique_by=lambda one: one.item)), max_size=8
)
CHANGES = st.builds(
    Change,
    st.integers(1, 1_000),
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from(["items", "edit"]),
    st.dictionaries(NAMES, st.none() | FIELD),
    st.lists(DECISION, max_size=3).map(tuple),
    st.lists(ITEMS, max_size=3).map(tuple),
    st.dictionaries(ITEMS, USERS),
    st.none() | USERS,
)


def lived(states: list[tuple[dict[str, Field], list[Decision]]]) -> list[Change]:
    """Return the changes that make a profile each of these in turn."""
    changes = [Change(1, BEGAN, "begin")]
    fields: dict[str, Field] = {}
    decided: dict[UUID, Decision] = {}
    for number, (after, decisions) in enumerate(states, start=2):
        wanted = {one.item: one for one in decisions}
        changes.append(
            Change(
                number,
                BEGAN + timedelta(hours=number),
                "items",
                changed(fields, after),
                tuple(one for one in decisions if decided.get(one.item) != one),
                tuple(item for item in decided if item not in wanted),
            )
        )
        fields, decided = after, wanted
    return changes


@given(STATES, st.data())
def test_changes_up_to_any_moment_come_to_the_profile_of_that_moment(
    states: list[tuple[dict[str, Field], list[Decision]]], data: st.DataObject
) -> None:
    changes = lived(states)
    until = data.draw(st.integers(1, len(changes)))
    shuffled = data.draw(st.permutations(changes[:until]))
    state = replayed(shuffled)
    assert state is not None
    fields, decisions = states[until - 2] if until > 1 else ({}, [])
    assert state.fields == fields
    assert {one.item: one for one in state.decisions} == {one.item: one for one in decisions}
    assert (state.version, state.since) == (until, changes[until - 1].recorded_at)


def test_of_no_change_nothing_comes() -> None:
    assert replayed([]) is None


@given(CHANGES)
def test_a_change_is_read_as_it_was_written(change: Change) -> None:
    assert from_text(to_text(change), change.version, change.recorded_at, change.cause) == change
    assert from_lines(to_lines([change])) == [change]


@given(st.lists(CHANGES, max_size=5), st.lists(CHANGES, max_size=5))
def test_texts_of_changes_join_and_fold(first: list[Change], later: list[Change]) -> None:
    key = DataKey(UUID(int=7), new_secret())
    sealed = folded(key, "user:kim", 3, to_lines(first) + to_lines(later))
    lines = unfolded(key, "user:kim", 3, sealed)
    by_version = lambda change: change.version  # noqa: E731
    assert from_lines(lines) == sorted(first, key=by_version) + sorted(later, key=by_version)


@given(CHANGES, USERS)
def test_nothing_of_a_user_is_left_and_everything_of_others(change: Change, user: str) -> None:
    less = without(change, user)
    theirs = {item for item, author in change.authors.items() if author == user}
    assert theirs.isdisjoint(less.items | set(less.withdrawn) | set(less.authors))
    assert less.by != user
    assert user not in less.authors.values()
    for name, field in change.fields.items():
        left = less.fields[name]
        kept = [
            (entry.text, tuple(item for item in entry.items if item not in theirs))
            for entry in (field.entries if field else ())
            if not entry.items or not theirs.issuperset(entry.items)
        ]
        assert [(entry.text, entry.items) for entry in (left.entries if left else ())] == kept
    others = [one for one in change.decided if one.item not in theirs]
    assert list(less.decided) == others
    assert without(less, user) == less


def test_what_begins_again_has_nothing_of_before() -> None:
    first = Change(2, BEGAN, "items", {"username": Field((Entry("Ro"),))})
    known = Change(5, BEGAN, "known", {"profession": Field((Entry("pilot"),))})
    state = replayed([known, first])
    assert state is not None
    assert set(state.fields) == {"profession"}


def test_addresses_are_masked_as_in_the_profile() -> None:
    change = Change(2, BEGAN, "edit", {"email": Field((Entry("kim@example.org"),)), "phone": None})
    assert told(change, MASKS).values == {"email": "k***@e***.org", "phone": None}
    assert told(change, {}).values["email"] == "kim@example.org"
