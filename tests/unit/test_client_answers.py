"""Does the client understand answers, and does it know which to wait for?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import errors
from mnemic.access.problems import problem_of
from mnemic.api.views import hit_view, plain, verdict_view
from mnemic.client.answering import Outcome, Patience, error_of, pause_before_retry, seconds
from mnemic.client.calls import UNCHANGED, add, update
from mnemic.client.reading import any_hit_of, into, verdict_of
from mnemic.errors import MnemicError, StorageUnavailable
from mnemic.ids import new_id
from mnemic.model import Hit, MemoryItem, Parts, ResourceHit, Verdict

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ITEM = MemoryItem(
    new_id(),
    "user",
    "kim",
    "kim",
    "fact",
    "I drink green tea",
    "user",
    0.9,
    "active",
    NOW,
    NOW,
    NOW,
    source_seqs=(1, 2),
    metadata={"topic": ["tea"]},
)
IDS = st.uuids().map(lambda found: UUID(str(found)))


@given(
    outcome=st.sampled_from(["stored", "duplicate", "superseded", "pending", "rejected"]),
    id=st.none() | IDS,
    reason=st.none() | st.text(max_size=9),
    superseded=st.lists(IDS, max_size=3).map(tuple),
    removed=st.lists(st.text(max_size=5), max_size=2).map(tuple),
)
def test_a_verdict_comes_back_as_it_was(**values: object) -> None:
    verdict = Verdict(**values)  # type: ignore[arg-type]
    assert verdict_of(verdict_view(verdict)) == verdict


def test_items_and_hits_come_back_as_they_were() -> None:
    assert into(MemoryItem, plain(ITEM)) == ITEM
    hit = Hit(ITEM, 0.75, Parts(0.5, 0.9, 0.6), 0.4, 0.25, ("vector", "words"))
    assert any_hit_of(hit_view(hit)) == hit
    turn = ResourceHit(
        new_id(),
        new_id(),
        "chat",
        "I drink green tea",
        0.75,
        Parts(0.5, 1.0, 0.6),
        3,
        session="s1",
        role="assistant",
        occurred_at=NOW,
    )
    assert any_hit_of(hit_view(turn)) == turn


def test_what_a_newer_service_says_beyond_is_passed_over() -> None:
    assert into(MemoryItem, plain(ITEM) | {"colour": "green"}) == ITEM


@pytest.mark.parametrize(
    "broken",
    [{}, {"id": "x"}, plain(ITEM) | {"id": 7}, plain(ITEM) | {"created_at": "soon"}],
    ids=range(4),
)
def test_what_is_no_answer_is_an_error_of_ours(broken: dict[str, object]) -> None:
    with pytest.raises(StorageUnavailable) as caught:
        into(MemoryItem, broken)
    assert caught.value.code == "service_answer_unreadable"


@pytest.mark.parametrize(
    "kind",
    [
        getattr(errors, name)
        for name in errors.__all__
        if issubclass(getattr(errors, name), MnemicError)
    ],
)
def test_an_error_comes_back_as_the_librarys(kind: type[MnemicError]) -> None:
    """What goes wrong inside the deployment keeps class and code; its words stay there."""
    sent = kind("some_code", "Do this.", version=3)
    problem = problem_of(sent)
    value = {
        "code": problem.code,
        "error": problem.kind,
        "detail": problem.detail,
        "details": problem.details,
    }
    got = error_of(Outcome(problem.status, value))
    assert (type(got), got.code) == (kind, "some_code")
    if problem.status < 500:
        assert (got.message, got.details) == (sent.message, {"version": 3})
    else:
        assert "Do this" not in got.message


@pytest.mark.parametrize("value", [None, "text", [], {}, {"code": 7}, {"detail": "x"}])
def test_a_page_of_a_proxy_is_an_error_of_ours(value: object) -> None:
    assert error_of(Outcome(502, value)).code == "service_answer_unreadable"


def test_details_cannot_take_the_place_of_code_and_message() -> None:
    value = {"code": "c", "error": "Conflict", "detail": "d", "details": {"code": 1, "self": 2}}
    assert error_of(Outcome(409, value)).details == {}


@pytest.mark.parametrize(
    ("outcome", "waits"),
    [
        (Outcome(0), True),
        (Outcome(429, {}, 2.0), True),
        (Outcome(429, {}, 3600.0), False),
        (Outcome(503, {}), True),
        (Outcome(504, {}), True),
        (Outcome(409, {"code": "idempotency_in_flight"}, 1.0), True),
        (Outcome(409, {"code": "version_conflict"}), False),
        (Outcome(422, {}), False),
        (Outcome(500, {}), False),
        (Outcome(200, {}), False),
    ],
)
def test_what_passes_is_waited_for(outcome: Outcome, waits: bool) -> None:
    pause = pause_before_retry(outcome, 0, Patience())
    assert (pause is not None) is waits
    if outcome.retry_after is not None and waits:
        assert pause == outcome.retry_after
    assert pause_before_retry(outcome, Patience().retries, Patience()) is None


def test_retry_after_is_seconds_or_a_date() -> None:
    assert seconds("7") == 7
    assert seconds(None) is None
    assert seconds("soon") is None
    later = format_datetime(NOW + timedelta(seconds=30), usegmt=True)
    assert seconds(later, NOW) == 30
    assert seconds(format_datetime(NOW - timedelta(days=1), usegmt=True), NOW) == 0


def test_an_end_is_left_taken_away_or_set() -> None:
    assert update("x", content="text").json == {"content": "text"}
    assert update("x", valid_to=None).json == {"valid_to": None}
    assert update("x", valid_to=NOW).json == {"valid_to": NOW.isoformat()}
    assert repr(UNCHANGED) == "UNCHANGED"


def test_ids_are_one_segment_of_a_path_and_content_is_in_no_repr() -> None:
    assert update("../../x?y", confidence=1.0).path == "/api/memory/..%2F..%2Fx%3Fy"
    assert "green" not in repr(add("green").path)
