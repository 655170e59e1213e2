"""Does the client do over HTTP what the library does, also when the line breaks?"""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from api_world import Served
from conftest import Server
from mnemic.client import AsyncMnemicClient, MnemicClient
from mnemic.errors import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotFound,
    PermissionDenied,
    StorageUnavailable,
    Unauthenticated,
)
from mnemic.model import ResourceHit, ToolCall, Turn

TEA = "I drink green tea in the morning"


@pytest.fixture(scope="module")
def served(server: Server) -> Iterator[Served]:
    """A running service."""
    with Served(server.settings(f"t_{uuid4().hex[:12]}")) as running:
        yield running


@pytest.fixture
def user() -> str:
    """A user that no other test has."""
    return f"kim-{uuid4().hex[:8]}"


@pytest.fixture
def kim(served: Served, user: str) -> Iterator[MnemicClient]:
    """That user's client."""
    with MnemicClient(served.url, f"mk_{user}") as client:
        yield client


def test_both_clients_have_the_same_operations() -> None:
    waiting, blocking = (
        {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}
        for kind in (AsyncMnemicClient, MnemicClient)
    )
    assert waiting ^ blocking == {"aclose", "close"}
    assert len(blocking) > 30


def test_a_memory_from_its_birth_to_its_end(kim: MnemicClient, user: str) -> None:
    verdict = kim.add(TEA, "preference", metadata={"topic": "tea"})
    assert verdict.outcome == "stored"
    item = kim.get(verdict.id)
    assert (item.content, item.owner_id, item.version) == (TEA, user, 1)
    assert item.metadata == {"topic": "tea"}
    again = kim.add(TEA)
    assert (again.outcome, again.of) == ("duplicate", verdict.id)
    (hit,) = kim.search("green tea")
    assert hit.item == item
    assert TEA in kim.build_context("green tea in the morning")
    kim.update(verdict.id, content="I drink black tea in the morning", expected_version=1)
    with pytest.raises(Conflict) as caught:
        kim.update(verdict.id, confidence=0.95, expected_version=1)
    assert (caught.value.code, caught.value.details) == ("version_conflict", {"version": 2})
    assert [one.version for one in kim.history(verdict.id)] == [2, 1]
    assert kim.delete(verdict.id, dry_run=True).count == 2
    assert kim.delete(verdict.id).count == 2
    with pytest.raises(NotFound) as missing:
        kim.get(verdict.id)
    assert missing.value.code == "item_not_found"


def test_pages_follow_each_other(kim: MnemicClient) -> None:
    verdicts = kim.add_many([{"content": f"Shelf {n} holds {n * 13} boxes"} for n in range(7)])
    assert {verdict.outcome for verdict in verdicts} == {"stored"}
    first = kim.list(limit=5)
    rest = kim.list(limit=5, cursor=first.cursor)
    assert (first.total, len(first.items), len(rest.items), rest.cursor) == (7, 5, 2, None)
    assert kim.delete_all(dry_run=True).count == 7
    with pytest.raises(PermissionDenied) as caught:
        kim.delete_all()
    assert caught.value.code == "confirmation_required"
    assert kim.delete_all(confirm=True).count == 7


def test_what_was_said_becomes_memories(kim: MnemicClient) -> None:
    said = [Turn("user", "Please remember: I always take the stairs.", datetime.now(UTC))]
    here = kim.within(session="s/1")
    assert kim.append("s/1", said).seqs == (1,)
    assert kim.messages("s/1")[0].content == said[0].content
    report = here.extract()
    assert report.turns == 1
    assert report.findings[0].verdict.outcome == "stored"
    found = kim.search_all("take the stairs", include=("resource",))
    assert [hit.session for hit in found if isinstance(hit, ResourceHit)] == ["s/1"]
    with pytest.raises(InvalidInput) as caught:
        kim.extract()
    assert caught.value.code == "session_required"


def test_a_deletion_and_a_visibility_name_the_version_that_is_meant(
    kim: MnemicClient, user: str
) -> None:
    kim.create_project(user, "Apollo")
    here = kim.within(project=user)
    made = here.add("The valve is opened by hand", scope="project", visibility="owner_only")
    here.update(made.id, visibility="public", expected_version=1)
    assert here.get(made.id).visibility == "public"
    with pytest.raises(Conflict) as stale:
        here.delete(made.id, expected_version=1)
    assert (stale.value.code, stale.value.details) == ("version_conflict", {"version": 2})
    assert here.delete(made.id, expected_version=2).count == 2
    kim.rename_project(user, "Apollo 2")
    with pytest.raises(Conflict):
        kim.delete_project(user, confirm=True, expected_version=1)
    assert kim.delete_project(user, confirm=True, expected_version=2).members == 1


def test_a_session_is_read_pinned_kept_in_and_closed(kim: MnemicClient) -> None:
    calls = (ToolCall("c1", "weather", {"city": "奥斯陆"}),)
    turns = [
        Turn("user", "What is the weather?", datetime(2026, 3, 2, 9, tzinfo=UTC)),
        Turn("assistant", "", tool_calls=calls),
        Turn("tool", "It rains.", tool_call_id="c1"),
        Turn("user", "Please remember: I always take the stairs."),
    ]
    assert kim.append("s/1", turns).seqs == (1, 2, 3, 4)
    window = kim.window("s/1", 3)
    assert [turn.content for turn in window.turns] == ["", "It rains.", turns[3].content]
    assert window.turns[0].tool_calls == calls
    assert (window.summary, window.fits) == (None, True)
    small = kim.window("s/1", budget_tokens=50)
    assert small.tokens <= 50
    assert kim.pin("s/1", [1]) == 1
    assert kim.messages("s/1")[0].pinned
    assert kim.pin("s/1", [1], pinned=False) == 1
    kept = kim.set_value("s/1", "draft/a", {"to": ["Li", None]}, ttl=600)
    assert (kept.value, kept.version) == ({"to": ["Li", None]}, 1)
    assert kim.set_value("s/1", "none", None).value is None
    assert kim.value("s/1", "draft/a") == kept
    assert kim.state("s/1").keys() == {"draft/a", "none"}
    assert (kim.delete_value("s/1", "draft/a"), kim.delete_value("s/1", "draft/a")) == (True, False)
    with pytest.raises(NotFound) as gone:
        kim.value("s/1", "draft/a")
    assert gone.value.code == "value_not_found"
    ended = kim.close_session("s/1")
    assert (ended.session_id, ended.memories, ended.problem) == ("s/1", 1, None)
    info = kim.session("s/1")
    assert (info.turns, info.closed_at) == (4, ended.closed_at)
    with pytest.raises(NotFound) as unknown:
        kim.session("nowhere")
    assert unknown.value.code == "session_not_found"


def test_a_task_goes_from_its_beginning_to_its_end(kim: MnemicClient) -> None:
    event = uuid4()
    task = kim.create_task("data_approval", {"rows": 12, "名": "数据"}, event_id=event)
    assert kim.create_task("data_approval", {"rows": 12, "名": "数据"}, event_id=event) == task
    assert (task.version, task.status, task.state_data["rows"]) == (1, "running", 12)
    assert kim.task(task.task_id) == task
    claim = kim.claim_task("data_approval", lease=60)
    assert claim is not None
    assert claim.task == task
    assert kim.claim_task() is None
    held = kim.renew_task(task.task_id, claim.token, lease=600)
    assert held.until > claim.until
    moved = kim.advance_task(
        task.task_id, data={"rows": 13}, drop=["名"], expected_version=1, claim=claim.token
    )
    assert (moved.state_data, moved.version) == ({"rows": 13}, 2)
    with pytest.raises(Conflict) as stale:
        kim.advance_task(task.task_id, expected_version=1, claim=claim.token)
    assert stale.value.code == "version_conflict"
    kim.release_task(task.task_id, claim.token)
    with pytest.raises(Conflict) as lost:
        kim.renew_task(task.task_id, claim.token)
    assert lost.value.code == "claim_lost"
    failed = kim.fail_task(task.task_id, "第三列缺失")
    assert (failed.status, failed.failure) == ("failed", "第三列缺失")
    kim.advance_task(task.task_id, failed.current_step)
    kim.advance_task(task.task_id, "approval")
    done = kim.complete_task(task.task_id)
    assert done.status == "completed"
    assert kim.replay_task(task.task_id) == kim.repair_task(task.task_id) == done
    assert kim.replay_task(task.task_id, version=1) == task
    events = kim.task_history(task.task_id)
    assert [one.seq for one in events] == list(range(1, len(events) + 1))
    assert kim.task_history(task.task_id, after=2, limit=1) == events[2:3]
    page = kim.tasks(status="completed", limit=1)
    assert (page.tasks, page.total, page.cursor) == ((done,), 1, None)
    with pytest.raises(NotFound) as missing:
        kim.task(uuid4())
    assert missing.value.code == "task_not_found"


def test_profiles_are_read_and_edited(kim: MnemicClient, user: str) -> None:
    assert kim.profile().user == user
    changed = kim.change_profile({"username": "小明", "email": "kim@example.org"})
    assert changed.values["username"] == "小明"
    assert "kim@example.org" not in str(changed.values)
    assert kim.profile(contact=True).values["email"] == "kim@example.org"
    assert changed.origins["username"].edited_at is not None
    with pytest.raises(Conflict) as stale:
        kim.put_profile({"username": "Kim"}, expected_version=changed.version + 7)
    assert stale.value.code == "version_conflict"
    put = kim.put_profile({"username": "Kim"}, expected_version=changed.version)
    assert (put.values["username"], put.values["email"]) == ("Kim", None)
    assert kim.change_profile({"username": None}).values["username"] is None
    kim.create_project(user, "Apollo")
    shown = kim.project_profile(user)
    assert (shown.project, shown.key_decisions) == (user, ())
    edited = kim.change_project_profile(user, {"tech_stack": ("Python", "PostgreSQL")})
    assert edited.values["tech_stack"] == ("Python", "PostgreSQL")
    whole = kim.put_project_profile(
        user, {"current_phase": "beta"}, expected_version=edited.version
    )
    assert (whole.values["current_phase"], whole.values["tech_stack"]) == ("beta", ())


def test_what_agents_wait_for_is_decided(kim: MnemicClient) -> None:
    assert kim.approvals() == ()
    for decide in (
        lambda: kim.approve("nothing"),
        lambda: kim.approve_edited("nothing", {"to": "bob"}),
        lambda: kim.reject("nothing", "why"),
        lambda: kim.answer("nothing", None),
    ):
        with pytest.raises(NotFound) as unknown:
            decide()
        assert unknown.value.code == "unknown_approval"


def test_the_service_tells_how_it_is(served: Served, kim: MnemicClient) -> None:
    kim.health()
    kim.ready()
    with pytest.raises(PermissionDenied) as refused:
        kim.metrics()
    assert refused.value.code == "operator_required"
    with MnemicClient(served.url, "mk_operator") as operator:
        assert "mnemic_requests_total" in operator.metrics()


def test_questions_are_confirmed_and_denied(kim: MnemicClient) -> None:
    first = kim.add(TEA, confidence=0.75)
    second = kim.add("My bicycle is red and old", confidence=0.75)
    assert [question.item.id for question in kim.questions()] == [first.id, second.id]
    assert kim.confirm(first.id).reason == "confirmed"
    assert kim.deny(second.id).reason == "denied"
    assert kim.questions() == ()


def test_documents_are_kept_read_and_removed(kim: MnemicClient) -> None:
    text = "# Ferry\n\nThe harbour ferry leaves at noon."
    stored = kim.add_resource(text, "markdown", title="Ferry", uri="notes/ferry.md")
    assert stored.outcome == "stored"
    assert kim.add_resource(text, "markdown", uri="notes/ferry.md").outcome == "unchanged"
    assert kim.resource(stored.id).title == "Ferry"
    assert "noon" in kim.read_resource(stored.id)[0].text
    assert kim.resources(kind="document").total == 1
    (hit,) = kim.search_all("harbour ferry", include=("resource",))
    assert isinstance(hit, ResourceHit)
    assert kim.delete_resource(stored.id).chunks == stored.chunks
    with pytest.raises(NotFound):
        kim.resource(stored.id)


def test_projects_are_shared_by_role(served: Served, kim: MnemicClient, user: str) -> None:
    name, guest = f"apollo/{user}", f"lee-{user}"
    made = kim.create_project(name, "Apollo")
    assert (made.id, made.role, made.created_by) == (name, "owner", user)
    with MnemicClient(served.url, f"mk_{guest}") as lee:
        with pytest.raises(NotFound) as caught:
            lee.project(name)
        assert caught.value.code == "project_not_found"
        assert kim.grant_role(name, guest, "viewer").role == "viewer"
        assert lee.project(name).role == "viewer"
        with pytest.raises(PermissionDenied):
            lee.rename_project(name, "Mine")
        assert [member.user for member in lee.members(name)] == [user, guest]
        assert kim.rename_project(name, "Apollo 2", expected_version=1).name == "Apollo 2"
        with pytest.raises(Conflict):
            kim.rename_project(name, "Apollo 3", expected_version=1)
        with pytest.raises(Conflict) as alone:
            kim.revoke_role(name, user)
        assert alone.value.code == "last_owner"
        assert kim.transfer_project(name, guest).role == "owner"
        assert [project.role for project in kim.projects()] == ["admin"]
        lee.revoke_role(name, user)
        assert kim.projects() == ()
        assert lee.delete_project(name, confirm=True).members == 1


@pytest.mark.parametrize("name", [".", "..", "../memory", "a/..", "%2E%2E"])
def test_an_id_of_dots_is_no_way_to_another_route(kim: MnemicClient, user: str, name: str) -> None:
    assert kim.set_value("s1", name, 1).name == name
    assert kim.value("s1", name).value == 1
    assert kim.delete_value("s1", name)
    project = f"{name}" if name in (".", "..") else f"{name}-{user}"
    kim.create_project(project, "Dots")
    assert kim.project(project).id == project
    with pytest.raises(NotFound):
        kim.revoke_role(project, "..")
    assert kim.delete_project(project, confirm=True).members == 1
    with pytest.raises(InvalidInput):
        kim.delete(name)


def test_errors_are_those_of_the_library(served: Served, kim: MnemicClient) -> None:
    with pytest.raises(InvalidInput) as caught:
        kim.search("tea", k=0)
    assert caught.value.code == "k_out_of_range"
    with (
        MnemicClient(served.url, "not-a-key") as nobody,
        pytest.raises(Unauthenticated) as unknown,
    ):
        nobody.list()
    assert unknown.value.code == "credential_invalid"


async def test_the_waiting_client_does_the_same(served: Served, user: str) -> None:
    async with AsyncMnemicClient(served.url, f"mk_{user}") as kim:
        verdicts = await asyncio.gather(
            *(kim.add(f"Shelf {n} holds {n * 13} boxes") for n in range(5))
        )
        assert (await kim.list()).total == 5
        assert (await kim.get(verdicts[0].id)).content == "Shelf 0 holds 0 boxes"
    with pytest.raises(InvalidInput) as caught:
        await kim.list()
    assert caught.value.code == "client_not_open"


def test_a_service_key_acts_for_whom_it_names(served: Served, user: str) -> None:
    with MnemicClient(served.url, "mk_service", user=f"{user}-小明") as agent:
        agent.add(TEA)
        assert agent.list().items[0].owner_id == f"{user}-小明"
        assert agent.within(user=user).list().total == 0


@pytest.mark.parametrize("url", ["", "host", "ftp://host", "http://", "https://host?x=1"])
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        MnemicClient(url, "key")
    assert caught.value.code == "service_url_invalid"


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "ключ"])
def test_what_no_header_can_carry_is_refused_at_once(key: str) -> None:
    with pytest.raises(ConfigurationError):
        MnemicClient("http://localhost", key)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 129])
def test_what_is_no_id_is_refused_at_once(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        MnemicClient("http://localhost", "key").within(project=name)
    assert caught.value.code == "invalid_id"


def test_the_key_is_in_no_repr() -> None:
    assert "secret" not in repr(MnemicClient("http://localhost", "secret"))


def test_a_service_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with (
        MnemicClient(f"http://127.0.0.1:{port}", "key", retries=1) as client,
        pytest.raises(StorageUnavailable) as caught,
    ):
        client.list()
    assert caught.value.code == "service_unreachable"


# ---- a line that breaks


class _Line:
    """Hands requests on to the service; the first answers are lost after the service gave them, the
    others come after some seconds."""

    def __init__(self, url: str, lose: int, seconds: float) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._service = (host, int(port))
        self._lose, self._seconds = lose, seconds
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.asked = 0

    def run(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:
                return
            with caller:
                self._hand_on(caller)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _hand_on(self, caller: socket.socket) -> None:
        request = _message(caller)
        self.asked += 1
        with socket.create_connection(self._service) as service:
            service.sendall(request)
            answer = _message(service)
        time.sleep(self._seconds)
        if self.asked > self._lose:
            caller.sendall(answer.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))


def _message(line: socket.socket) -> bytes:
    """Read one HTTP message with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += line.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [h for h in head.lower().split(b"\r\n") if h.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < length:
        body += line.recv(65_536)
    return head + b"\r\n\r\n" + body


@contextmanager
def _losing(url: str, answers: int, seconds: float = 0.0) -> Iterator[_Line]:
    line = _Line(url, answers, seconds)
    thread = threading.Thread(target=line.run, daemon=True)
    thread.start()
    yield line
    line.close()
    thread.join(10)
    assert not thread.is_alive()


def test_pf_106_a_lost_answer_is_asked_for_again_and_nothing_is_done_twice(
    served: Served, kim: MnemicClient, user: str
) -> None:
    with _losing(served.url, 2) as line, MnemicClient(line.url, f"mk_{user}") as client:
        verdict = client.add(TEA)
        assert line.asked == 3
    assert verdict.outcome == "stored"  # the first answer, not "duplicate" of the second attempt
    assert [item.id for item in kim.list().items] == [verdict.id]


async def test_the_waiting_client_asks_again_too(
    served: Served, kim: MnemicClient, user: str
) -> None:
    with _losing(served.url, 1) as line:
        async with AsyncMnemicClient(line.url, f"mk_{user}") as client:
            appended = await client.append("s1", [Turn("user", "hello there")])
    assert appended.seqs == (1,)
    assert len(kim.messages("s1")) == 1


def test_patience_ends(served: Served, user: str) -> None:
    with (
        _losing(served.url, 99) as line,
        MnemicClient(line.url, f"mk_{user}", retries=1) as client,
    ):
        with pytest.raises(StorageUnavailable) as caught:
            client.list()
        assert line.asked == 2
    assert caught.value.code == "service_unreachable"


async def test_the_answer_to_a_document_is_waited_for_longer(served: Served, user: str) -> None:
    given = {"timeout": 1.0, "retries": 0}
    with _losing(served.url, 0, seconds=2.0) as line:
        with MnemicClient(line.url, f"mk_{user}", **given) as client:
            assert client.add_resource("The ferry leaves at noon.").outcome == "stored"
        async with AsyncMnemicClient(line.url, f"mk_{user}", **given) as waiting:
            assert (await waiting.add_resource("The ferry leaves at noon.")).outcome == "unchanged"
            with pytest.raises(StorageUnavailable):
                await waiting.list()
