"""Does what goes to sleep come back as it was?"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mnemic.profile.behaviour import Behaviour
from mnemic.profile.fields import CORE, USER_FIELDS
from mnemic.profile.sleeping import SLEEPING, Asleep, Fold, bundled, packed, unbundled, unpacked
from mnemic.profile.values import Entry, Field
from mnemic.settings import Settings, age

_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
_IDS = st.lists(st.uuids(), max_size=4, unique=True).map(tuple)
_TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
_FIELDS = st.builds(
    Field,
    st.lists(st.builds(Entry, _TEXT, _IDS), max_size=5).map(tuple),
    _TIMES,
    st.none() | st.just("ab" * 32),
)
_HALVES = st.floats(width=16, allow_nan=False, allow_infinity=False)
_BEHAVIOURS = st.builds(
    Behaviour,
    st.lists(_HALVES, min_size=1, max_size=64).map(tuple),
    st.floats(0, 1e6),
    st.datetimes(timezones=st.just(UTC)),
    st.integers(0, 32_767),
)


@given(st.dictionaries(st.sampled_from(SLEEPING), _FIELDS), st.none() | _BEHAVIOURS)
def test_what_is_packed_comes_back_as_it_was(
    fields: dict[str, Field], behaviour: Behaviour | None
) -> None:
    asleep = Asleep(fields, behaviour)
    assert unpacked(packed(asleep)) == asleep


@given(
    st.binary(max_size=200),
    st.none() | st.builds(Fold, st.integers(1, 2**31), st.binary(min_size=1)),
)
def test_what_is_bundled_comes_back_as_it_was(archive: bytes, fold: Fold | None) -> None:
    assert unbundled(bundled(archive, fold)) == (archive, fold)


def test_every_field_is_core_or_sleeps() -> None:
    assert set(SLEEPING) | CORE == set(USER_FIELDS)
    assert not set(SLEEPING) & CORE


def test_another_format_is_an_error() -> None:
    other = struct.pack("<HI", 2, 0)
    with pytest.raises(ValueError, match="another format"):
        unbundled(other)
    with pytest.raises(ValueError, match="another format"):
        unpacked(zstandard.ZstdCompressor().compress(other))


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("off", None),
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
        ("90m", timedelta(minutes=90)),
    ],
)
def test_a_time_away_is_written_with_its_unit(text: str, long: timedelta | None) -> None:
    assert age(Settings.read(hibernate_after=text).hibernate_after) == long


def test_datetimes_keep_their_zone() -> None:
    at = datetime(2031, 1, 2, tzinfo=UTC)
    asleep = Asleep({"content": Field((Entry("x"),), at)})
    assert unpacked(packed(asleep)).fields["content"].edited_at == at
