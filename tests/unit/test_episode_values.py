"""What do threads, questions, tool calls and decisions mean? The pure rules of episodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Interrupt

from mnemic.crypto import DataKey, new_secret
from mnemic.episodic import metadata
from mnemic.episodic.approvals import answer_to
from mnemic.episodic.episode import messages_in, todos_in, tools_in
from mnemic.episodic.moments import (
    NULL_TASK,
    Moment,
    Written,
    after,
    following,
    next_nodes,
)
from mnemic.episodic.sealing import Lock, SealedSerializer
from mnemic.episodic.threads import Place, actor_of, place_of, shown
from mnemic.episodic.upkeep import Placed, expired
from mnemic.errors import InvalidInput, PermissionDenied
from mnemic.ids import new_id
from mnemic.model import Actor

NOW = datetime(2026, 1, 1, tzinfo=UTC)
names = st.text(
    st.characters(blacklist_categories=("C", "Z", "M"), blacklist_characters="\u3164\uffa0"),
    min_size=1,
    max_size=12,
).filter(lambda text: text.strip() == text)


# ---- whose a thread is


@given(names, names, names, names)
def test_threads_of_two_users_never_share_an_id(a: str, one: str, b: str, two: str) -> None:
    try:
        first, second = Place(Actor(a), one), Place(Actor(b), two)
    except InvalidInput:
        return
    same = (first.actor.user, one) == (second.actor.user, two)
    assert (first.stored == second.stored) == same
    assert shown(first.stored) == one
    assert first.stored.startswith(first.actor.user_scope.removeprefix("user:") + "/")


def test_the_user_comes_from_the_config_or_from_who_it_was_made_for() -> None:
    kim = Actor("kim", "apollo", "s1")
    assert actor_of({"configurable": {"user_id": "lee", "session_id": "s2"}}, None) == Actor(
        "lee", session="s2"
    )
    assert actor_of({"configurable": {"thread_id": "t"}}, kim) == kim
    assert actor_of({"configurable": {"session_id": "s9"}}, kim).session == "s9"
    with pytest.raises(PermissionDenied):
        actor_of({"configurable": {"user_id": "lee"}}, kim)
    for nobody in (None, {}, {"configurable": None}, {"configurable": []}):
        with pytest.raises(InvalidInput):
            actor_of(nobody, None)  # type: ignore[arg-type]


def test_a_place_gives_a_config_that_names_it_again() -> None:
    place = Place(Actor("kim", "apollo", "s1"), "谈话 1/2", new_id())
    assert place_of(place.config(), None) == place
    assert Place(Actor("kim"), "t").session == "t"


# ---- questions


def written(
    task: str, *asked: str, ns: str = "", root: str = "c1", answered: bool = False
) -> Written:
    return Written(
        ns, root if ns == "" else "sub", root, task, "",
        tuple((name, name.upper()) for name in asked), answered, None, NOW,
    )  # fmt: skip


def test_a_question_waits_until_it_is_answered_or_its_step_is_over() -> None:
    moment = after(Moment("c1", next=("ask",)), written("a", "q1"))
    assert (moment.status, [one.id for one in moment.open]) == ("waiting", ["q1"])
    assert after(moment, written("b", answered=True)) == moment, "the answer of another task"
    answered = after(moment, written("a", answered=True))
    assert (answered.status, answered.open) == ("ready", ())
    again = after(answered, written("a", "q2", answered=True))
    assert [(one.id, one.decided) for one in again.questions] == [("q2", False)]
    assert after(moment, written(NULL_TASK, answered=True)).status == "ready"
    assert following(moment, Moment("c2")).status == "done"
    assert following(moment, Moment("c1", next=("ask",))).open == moment.open


def test_a_question_that_comes_before_its_checkpoint_waits_for_it() -> None:
    old = Moment("c1", next=("ask",))
    early = after(old, written("a", "q1", root="c2"))
    assert (early.status, early.early[0].asked) == ("running", (("q1", "Q1"),))
    assert following(early, Moment("c2")).status == "waiting"
    assert following(early, Moment("c3")).early == ()
    assert after(Moment("c3"), written("a", "q1", root="c2")) == Moment("c3"), "that is past"


def test_a_question_of_a_subgraph_is_answered_where_it_was_asked() -> None:
    inner = after(Moment("c1"), written("deep", "q1", ns="inner:1"))
    both = after(inner, written("outer", "q1"))
    assert [(one.ns, one.task_id) for one in both.questions] == [("inner:1", "deep")]
    other_way = after(after(Moment("c1"), written("outer", "q1")), written("deep", "q1", ns="in:1"))
    assert [one.ns for one in other_way.questions] == ["in:1"]


def test_what_writes_say_is_read_from_langgraphs_own() -> None:
    named = {"checkpoint_ns": "", "checkpoint_id": "c1"}
    assert Written.of(named, [("mood", "glad")], "t", "", NOW) is None
    found = Written.of(named, [("__interrupt__", [Interrupt("why?", id="q")])], "t", "p", NOW)
    assert found is not None
    assert (found.asked, found.root, found.answered) == ((("q", "why?"),), "c1", False)
    failed = Written.of(named, [("__error__", ValueError("no"))], "t", "", NOW)
    assert failed is not None
    assert after(Moment("c1", next=("x",)), failed).failure == "ValueError: no"
    assert after(Moment("c1"), failed).status == "failed"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"mood": 1}, ()),
        ({"__start__": {}}, ("__start__",)),
        ({"branch:to:a": None, "branch:to:b": None}, ("a", "b")),
        ({"join:a+b:c": {"a"}}, ()),
        ({"join:a+b:c": {"a", "b"}}, ("c",)),
    ],
)
def test_the_nodes_that_come_next_are_read_from_the_channels(
    values: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert next_nodes({"channel_values": values}) == expected  # type: ignore[typeddict-item]


# ---- decisions

HITL = {
    "action_requests": [{"name": "send", "args": {"to": "ann"}}],
    "review_configs": [{"action_name": "send", "allowed_decisions": ["approve", "edit", "reject"]}],
}
TWO = {"action_requests": [{"name": "a", "args": {}}, {"name": "b", "args": {}}]}


def test_decisions_are_what_the_middleware_and_plain_questions_expect() -> None:
    assert answer_to(HITL, "approve", None, None) == {"decisions": [{"type": "approve"}]}
    edited = {"type": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}}
    assert answer_to(HITL, "edit", {"to": "bob"}, None) == {"decisions": [edited]}
    no = {"type": "reject", "message": "no"}
    assert answer_to(HITL, "reject", None, "no") == {"decisions": [no]}
    assert answer_to(TWO, "reject", None, "no") == {"decisions": [no, no]}
    assert answer_to("sure?", "approve", None, None) is True
    assert answer_to("sure?", "reject", None, None) is False
    assert answer_to("which?", "approve", 4, None) == 4
    only = {"allowed_decisions": ["approve"]}
    for question, decision, given_value, code in (
        (TWO, "edit", {}, "several_actions"),
        (HITL, "edit", None, "edit_missing"),
        ("sure?", "edit", None, "edit_missing"),
        (HITL | {"review_configs": [only]}, "reject", None, "decision_not_allowed"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as refused:
            answer_to(question, decision, given_value, None)  # type: ignore[arg-type]
        assert refused.value.code == code


@pytest.mark.parametrize(
    "configs",
    [5, "approve", {"a": 1}, [5], [{"allowed_decisions": 5}], [{"allowed_decisions": "edit"}]],
)
def test_a_review_that_nobody_can_read_forbids_nothing(configs: Any) -> None:
    odd = HITL | {"review_configs": configs}
    assert answer_to(odd, "approve", None, None) == {"decisions": [{"type": "approve"}]}


# ---- what a page shows


def test_messages_and_tool_calls_are_read_in_every_form() -> None:
    call = {"name": "look", "args": {"q": 1}, "id": "1", "type": "tool_call"}
    openai = {"id": "2", "function": {"name": "find", "arguments": '{"q": 2}'}}
    state = {
        "messages": [
            HumanMessage("hi"),
            AIMessage("", tool_calls=[call]),
            ToolMessage("boom", tool_call_id="1", status="error"),
            {"role": "assistant", "content": "", "tool_calls": [openai]},
            ("user", "and?"),
        ],
        "todos": [{"content": "x", "status": "pending"}],
    }
    messages = messages_in(state)
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant", "user"]
    tools = tools_in(messages)
    assert [(one.name, one.status, one.result) for one in tools] == [
        ("look", "failed", "boom"),
        ("find", "pending", None),
    ]
    assert todos_in(state)[0]["content"] == "x"
    assert todos_in({"todo_list": ["y"]}) == ("y",)
    assert messages_in({"messages": "no list"}) == todos_in({}) == ()


# ---- the archive


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 30))
def test_the_newest_stay_whatever_their_age(keep: int, n: int, old: int) -> None:
    every = [
        Placed("", f"c{n - i:03}", i + 1, datetime(2025 if i >= old else 2027, 1, 1, tzinfo=UTC),
               None, None, delta=False)
        for i in range(n)
    ]  # fmt: skip
    going = expired(every, keep, NOW)
    assert len(going) == max(0, n - max(keep, old))
    assert every[0] not in going
    assert len(expired(every, keep, None)) == max(0, n - keep)


def test_a_subgraphs_checkpoints_go_with_the_one_that_called_it() -> None:
    def one(ns: str, name: str, place: int, root: str | None = None) -> Placed:
        return Placed(ns, name, place, NOW, root, None, delta=False)

    roots = [one("", "c2", 1), one("", "c1", 2)]
    calls = [one("sub:1", "d1", 1, "c1"), one("sub:2", "d2", 1, "c2"), one("kept", "d3", 1)]
    assert expired([*roots, *calls], 1, None) == [roots[1], calls[0]]


# ---- metadata


_TEXT = st.text(st.characters(blacklist_categories=["Cs"]))
_SCALARS = st.one_of(_TEXT, st.integers(-(2**63), 2**64 - 1), st.booleans())


@given(st.dictionaries(names, _SCALARS, max_size=5))
def test_metadata_comes_back_and_only_langgraphs_own_stands_in_clear(
    given_: dict[str, Any],
) -> None:
    lock = Lock(DataKey(new_id(), new_secret()), "user:kim", "kim/t")
    serializer = SealedSerializer()
    full = given_ | {"source": "loop", "step": 3, "user_id": "kim", "sealed": "mine"}
    kept = metadata.kept(full, serializer, lock)
    assert set(kept) <= {*metadata.CLEAR, metadata.SEALED, metadata.MACS}
    expected = {name: value for name, value in full.items() if name != "user_id"}
    expected = {k: v for k, v in expected.items() if k not in ("project_id", "session_id")}
    assert metadata.told(kept, serializer, lock) == expected
    asked = metadata.wanted({"sealed": "mine", "step": 3}, lock.key)
    assert asked["step"] == 3
    assert asked[metadata.MACS].items() <= kept[metadata.MACS].items()
    other = metadata.wanted({"sealed": "yours"}, lock.key)[metadata.MACS]
    assert not other.items() <= kept[metadata.MACS].items()
