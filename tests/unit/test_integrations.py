"""Who asks, did the user say so, and does the core come up without any framework?"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from mnemic.errors import InvalidInput, PermissionDenied, Unauthenticated
from mnemic.integrations.identity import Run, actor_of, enabled
from mnemic.integrations.langchain.triggers import asks_to_remember
from mnemic.integrations.langchain.turns import last_said, turns_of
from mnemic.integrations.langgraph.places import (
    last_label_is_memories,
    place_of,
    scopes_under,
)
from mnemic.integrations.spoken import trust, was_said
from mnemic.model import Actor

KIM = Actor("kim", project="apollo", session="s1")


def configured(**given: Any) -> dict[str, Any]:
    return {"configurable": given}


@dataclass
class Context:
    user_id: str
    project_id: str | None = None


# ---- who asks


def test_the_user_comes_from_config_context_or_server_and_all_must_agree() -> None:
    config = configured(user_id="kim", project_id="apollo", session_id="s1")
    assert actor_of(Run(config=config)) == KIM
    assert actor_of(Run(context=Context("kim", "apollo"))) == Actor("kim", project="apollo")
    assert actor_of(Run(context={"user_id": "kim"})).user == "kim"
    server = SimpleNamespace(identity="kim")
    assert actor_of(Run(server=server, config=config)) == KIM
    assert actor_of(Run(config=configured(langgraph_auth_user_id="kim"))).user == "kim"
    assert actor_of(Run(), KIM) == KIM
    assert actor_of(Run(config=configured(session_id="s2")), KIM).session == "s2"
    for run, default in (
        (Run(context=Context("lee"), config=config), None),
        (Run(server=SimpleNamespace(identity="lee"), config=config), None),
        (Run(config=configured(langgraph_auth_user_id="lee", user_id="kim")), None),
        (Run(context=Context("kim", "other"), config=config), None),
        (Run(config=config), Actor("lee")),
    ):
        with pytest.raises(PermissionDenied) as caught:
            actor_of(run, default)
        assert caught.value.code == "identity_unclear"


def test_a_run_without_a_user_and_ids_that_cannot_be_are_refused() -> None:
    for run in (Run(), Run(config={}), Run(config={"configurable": None}), Run(context=object())):
        with pytest.raises(Unauthenticated) as caught:
            actor_of(run)
        assert caught.value.code == "user_required"
    for bad in ("", "  ", 7, "a\nb", "x" * 129):
        with pytest.raises(InvalidInput) as invalid:
            actor_of(Run(config=configured(user_id=bad)))
        assert invalid.value.code == "invalid_id"


def test_a_thread_stands_for_a_session_that_is_not_named() -> None:
    assert actor_of(Run(config=configured(user_id="kim", thread_id="t"))).session == "t"
    for thread in (UUID(int=7), 7):
        given = Run(config=configured(user_id="kim", thread_id=thread))
        assert actor_of(given).session == str(thread)
    both = configured(user_id="kim", thread_id="t", session_id="s")
    assert actor_of(Run(config=both)).session == "s"


def test_the_switch_reads_what_people_write() -> None:
    for word, on in ((True, True), ("TRUE", True), (" yes ", True), (0, False), ("off", False)):
        assert enabled(Run(config=configured(enable_memory=word)), not on) is on
    assert enabled(Run(), False) is False
    assert enabled(Run(context={"enable_memory": False})) is False
    with pytest.raises(InvalidInput):
        enabled(Run(config=configured(enable_memory="maybe")))


# ---- did the user say so


@pytest.mark.parametrize(
    ("quote", "said", "found"),
    [
        ("I prefer dark mode", ["Well,  i PREFER dark-mode!"], True),
        ("我喜欢乌龙茶", ["其实，我喜欢“乌龙茶”。"], True),
        ("ＡＢＣ１２", ["abc12"], True),
        ("I prefer light mode", ["I prefer dark mode"], False),
        ("", ["anything"], False),
        ("…", ["anything …"], False),
        ("a", ["a b c"], False),
        ("yes", [], False),
    ],
)
def test_a_quote_is_found_whatever_its_width_case_and_punctuation(
    quote: str, said: list[str], found: bool
) -> None:
    assert was_said(quote, said) is found


def test_trust_rests_on_what_the_user_said() -> None:
    said = ["I keep bees behind the house"]
    assert trust("The user keeps bees", "I keep bees", said).source == "user"
    assert trust("I keep bees", None, said).confidence == 0.9
    assert trust("The user keeps bees", "I keep wasps", said) == trust("x y", None, said)
    assert trust("The user keeps bees", None, said).confidence == 0.75
    assert trust("The user keeps bees", "I keep bees", None).confidence == 0.9
    assert trust("The user keeps bees", "I keep bees", None).source == "ai"
    assert trust("The user keeps bees", " … ", None).confidence == 0.75


@given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=3))
def test_a_text_that_stands_there_whole_is_always_found_and_nothing_raises(
    quote: str, others: list[str]
) -> None:
    letters = was_said(quote, [quote])
    assert was_said(quote, [*others, f"so {quote} it is"]) or not letters


@pytest.mark.parametrize(
    "text",
    [
        "记住：我吃素",
        "帮我记住车牌",
        "我是素食者",
        "Remember that I moved",
        "Note that I am away",
        "don't forget: Monday",
        "以后都用中文",
        "My name is Kim",
    ],
)
def test_phrases_that_ask_to_be_remembered(text: str) -> None:
    assert asks_to_remember(text)


@pytest.mark.parametrize(
    "text", ["What time is it?", "今天天气怎么样", "Book a table", "notation that works"]
)
def test_phrases_that_do_not(text: str) -> None:
    assert not asks_to_remember(text)


# ---- messages as turns


def test_messages_become_turns_and_what_nobody_said_does_not() -> None:
    calls = [{"id": "c1", "name": "book", "args": {"place": "Lotus"}}]
    messages: list[BaseMessage] = [
        SystemMessage("rules", id="0"),
        HumanMessage("summary so far", id="1", additional_kwargs={"lc_source": "summarization"}),
        ToolMessage("left over", tool_call_id="gone", id="2"),
        HumanMessage(
            [{"type": "text", "text": "Book a table"}, {"type": "image", "url": "x"}], id="3"
        ),
        AIMessage("", tool_calls=calls, id="4"),
        ToolMessage("booked", tool_call_id="c1", id="5"),
        AIMessage("Done.", id="6"),
        HumanMessage("   ", id="7"),
    ]
    turns = turns_of(messages)
    assert [(turn.role, turn.content, turn.client_id) for turn in turns] == [
        ("user", "Book a table", "3"),
        ("assistant", "", "4"),
        ("tool", "booked", "5"),
        ("assistant", "Done.", "6"),
    ]
    assert turns[1].tool_calls[0].arguments == {"place": "Lotus"}
    assert [turn.client_id for turn in turns_of(messages, "4")] == ["5", "6"]
    assert len(turns_of(messages, "not there")) == 4
    assert last_said(messages[:-1]) == "Book a table"
    assert last_said([]) == ""


def test_messages_without_ids_are_known_by_their_place_and_words() -> None:
    first, again = turns_of([HumanMessage("a"), HumanMessage("a")]), turns_of([HumanMessage("a")])
    assert first[0].client_id == again[0].client_id != first[1].client_id
    huge = turns_of([HumanMessage("x" * 2_000_000), AIMessage("y", tool_calls=[])])
    assert len(huge[0].content) == 200_000


# ---- where a namespace lies


@pytest.mark.parametrize(
    ("namespace", "scope", "memory"),
    [
        (("memories",), "user:kim", True),
        (("kim", "memories"), "user:kim", True),
        (("users", "kim", "memories"), "user:kim", True),
        (("projects", "apollo", "memories"), "project:apollo", True),
        (("session", "s1", "memories"), "session:kim/s1", True),
        (("users", "kim", "a", "b"), "user:kim", False),
        (("projects", "apollo"), "project:apollo", False),
        (("users",), "user:kim", False),
        (("docs", "lee"), "user:kim", False),
        (("memories", "docs"), "user:kim", False),
    ],
)
def test_a_namespace_lies_in_a_scope(namespace: tuple[str, ...], scope: str, memory: bool) -> None:
    place = place_of(namespace, KIM, last_label_is_memories)
    assert (place.scope_key, place.memory, place.namespace) == (scope, memory, namespace)


LABELS = ["users", "projects", "sessions", "kim", "lee", "apollo", "s1", "memories", "x"]


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4))
def test_no_namespace_leads_out_of_the_actors_own_scopes(labels: list[str]) -> None:
    try:
        place = place_of(tuple(labels), KIM, last_label_is_memories)
    except PermissionDenied:
        return
    assert place.scope_key in KIM.readable_scopes
    assert place.scope_key in scopes_under(labels, KIM)
    assert not (labels[0] in ("users", "user") and len(labels) > 1 and labels[1] != "kim")


# ---- without the frameworks

_BARE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("langgraph", "langchain", "langchain_core", "mcp"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import mnemic, mnemic.service, mnemic.sync, mnemic.cli.main, mnemic.integrations
import mnemic.integrations.langgraph, mnemic.integrations.langchain, mnemic.integrations.mcp
from mnemic.errors import ConfigurationError
for module, name in (("langgraph", "MnemicStore"), ("langchain", "MemoryMiddleware"), ("mcp", "Endpoint")):
    try:
        getattr(getattr(mnemic.integrations, module), name)
    except ConfigurationError as error:
        assert error.code == "integration_not_installed" and f"'.[{module}]'" in error.message
    else:
        raise SystemExit(f"{module} came up")
mnemic.cli.main.application()
"""


def test_the_core_comes_up_without_the_frameworks_and_says_what_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _BARE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pf_136_importing_an_integration_starts_nothing() -> None:
    code = (
        "import threading, mnemic.integrations.langgraph as g, mnemic.integrations.mcp as m\n"
        "import mnemic.integrations.langchain as c\n"
        "assert g.MnemicStore and m.Endpoint and c.MemoryMiddleware\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
