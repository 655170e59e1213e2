"""What is foreseen of a batch, and where does the foresight end?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from mnemic.longterm.foresee import Beside, Candidate, Earlier, Incoming, Twin, foresee
from mnemic.longterm.gate import Decision, Neighbour
from mnemic.longterm.judge import Judgement

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LAST_YEAR = NOW - timedelta(days=400)
STORED, OTHER = UUID(int=900), UUID(int=901)
ALONE = Beside(8, 0.85)


def incoming(number: int, text: str, **more: object) -> Incoming:
    return Incoming(UUID(int=number), text, **more)  # type: ignore[arg-type]


def stored(
    text: str, *, item_id: UUID = STORED, asked: bool = False, since: datetime = LAST_YEAR
) -> Candidate:
    return Candidate(Neighbour(item_id, text, 0.9, since), 0.9, asked)


def judge(first: str, second: str, similarity: float | None) -> Judgement:
    """Texts are "topic value": the same topic with another value is newer."""
    (topic, value), (other, now) = first.split(), second.split()
    if topic != other:
        return Judgement("different", True, "other_topic")
    return Judgement("same" if value == now else "newer", True, "value_changed")


def told(items: list[Incoming], beside: list[Beside]) -> list[Decision]:
    return foresee(items, beside, NOW, judge, 0.85)


def earlier(*indexes: int) -> Beside:
    return Beside(8, 0.85, earlier=[Earlier(index, 0.95, 0.95, False) for index in indexes])


def test_a_later_text_meets_what_earlier_ones_of_its_batch_added_and_retired() -> None:
    items = [incoming(n, text) for n, text in enumerate(["port 80", "port 81", "port 82"])]
    decisions = told(items, [ALONE, earlier(0), earlier(0, 1)])
    assert [one.supersedes for one in decisions] == [(), (items[0].id,), (items[1].id,)]


def test_the_very_same_text_again_is_a_duplicate_whatever_its_width_and_spaces() -> None:
    items = [incoming(0, "port 80"), incoming(1, "port  ８０")]
    assert told(items, [ALONE, ALONE])[1] == Decision(duplicate_of=items[0].id, why="exact")


def test_what_a_pending_text_would_replace_stays_until_it_is_confirmed() -> None:
    items = [incoming(0, "port 81", pending="confidence_unsure"), incoming(1, "port 82")]
    beside = Beside(8, 0.85, stored=[stored("port 80")])
    both = Beside(8, 0.85, stored=[stored("port 80")], earlier=earlier(0).earlier)
    assert set(told(items, [beside, both])[1].supersedes) == {STORED, items[0].id}


def test_instruction_like_text_is_nobodys_neighbour() -> None:
    items = [incoming(0, "port 81", pending="instruction_like"), incoming(1, "port 82")]
    assert told(items, [ALONE, earlier(0)])[1].supersedes == ()


def test_a_text_of_the_batch_that_has_ended_is_compared_with_earlier_times_only() -> None:
    ended = incoming(0, "port 81", since=LAST_YEAR, until=NOW - timedelta(days=30))
    then = incoming(1, "port 82", since=LAST_YEAR + timedelta(days=1))
    assert told([ended, then], [ALONE, earlier(0)])[1].supersedes == (ended.id,)
    assert told([ended, incoming(2, "port 82")], [ALONE, earlier(0)])[1].supersedes == ()


def test_only_as_many_are_compared_as_adding_it_alone_would_compare() -> None:
    items = [incoming(n, f"port {n}") for n in range(3)]
    beside = [
        ALONE,
        ALONE,
        Beside(1, 0.85, earlier=[Earlier(0, 0.9, 0.9, False), Earlier(1, 0.95, 0.95, False)]),
    ]
    assert told(items, beside)[2].supersedes == (items[1].id,)


def test_the_foresight_ends_before_what_one_look_cannot_tell() -> None:
    first = incoming(0, "port 81")
    replaces = Beside(8, 0.85, stored=[stored("port 80")])
    cut = Beside(1, 0.85, stored=[stored("port 80")], cut=True)
    expired = Beside(8, 0.85, Twin(OTHER, expired=True))
    questioned = Beside(8, 0.85, Twin(OTHER, expired=False, asked=True))
    doubted = Beside(8, 0.85, stored=[stored("dog Rex", item_id=OTHER, asked=True)])
    known_later = Beside(8, 0.85, stored=[stored("dog Rex", since=NOW)])
    retired_twin = Beside(8, 0.85, Twin(STORED, expired=False))
    for text, beside, since in (
        ("lamp on", cut, None),
        ("lamp on", ALONE, LAST_YEAR),
        ("dog Rex", expired, None),
        ("dog Rex", questioned, None),
        ("dog Rex", doubted, None),
        ("port 80", retired_twin, None),
    ):
        items = [first, incoming(1, text, since=since)]
        assert len(told(items, [replaces, beside])) == 1, text
    assert told([incoming(1, "dog Fido", since=LAST_YEAR)], [known_later]) == []


def test_a_pending_text_of_the_batch_said_again_is_not_foreseen() -> None:
    items = [incoming(0, "port 81", pending="confidence_unsure"), incoming(1, "port 81")]
    assert len(told(items, [ALONE, ALONE])) == 1
