"""Which clients are there? ``AsyncMnemicClient`` and ``MnemicClient``: the same operations, awaited or not.

Every operation is a ``Call``; a client only sends it. What may have been lost on the way is sent again: reads
as they are, writes with the Idempotency-Key of the first attempt, so that nothing is done twice.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from urllib.parse import urlsplit

from mnemic.errors import ConfigurationError, InvalidInput

try:
    import httpx2
except ModuleNotFoundError:
    raise ConfigurationError(
        "client_not_installed",
        "The client needs more packages: pip install '.[client]' in the clone.",
    ) from None

from mnemic._version import __version__
from mnemic.client import calls, profile_calls, session_calls, shared_calls, task_calls
from mnemic.client.answering import Outcome, Patience, error_of, pause_before_retry, seconds
from mnemic.client.calls import Call
from mnemic.client.reading import unreadable
from mnemic.ids import new_id
from mnemic.model import clean_id

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound="_Client")


class _Client:
    """What both clients know: where the service is, who asks, and how patient they are."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        user: str | None = None,
        project: str | None = None,
        session: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
    ) -> None:
        """``api_key`` is an API key or a JWT; ``user`` is whom a service's key acts for.

        ``project`` and ``session`` say where; ``within`` gives a client of another place. ``timeout`` (s)
        bounds one attempt, but for the answer to a document; ``retries`` counts the repeats. Raises
        ConfigurationError and InvalidInput (``invalid_id``) at once.
        """
        self._base = _address(base_url)
        self._patience = Patience(timeout=timeout, retries=retries)
        self._headers = _headers(api_key, {"user": user, "project": project, "session": session})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._base}>"

    def within(
        self: C, *, user: str | None = None, project: str | None = None, session: str | None = None
    ) -> C:
        """Return a client of another user, project or session on the same connections."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        given = {"user": user, "project": project, "session": session}
        other._headers = self._headers | _places(given)
        return other

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        headers = self._headers | dict(call.headers)
        content = call.content
        if call.json is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(call.json, ensure_ascii=True, allow_nan=False).encode()
        if call.writes:
            headers["idempotency-key"] = new_id().hex
        url = self._base + call.path
        query = dict(call.query) or None
        sent: dict[str, Any] = {
            "method": call.method,
            "url": url,
            "params": query,
            "headers": headers,
            "content": content,
        }
        if call.longer:
            usual = self._patience.timeout
            sent["timeout"] = httpx2.Timeout(usual, read=usual + call.longer)
        return sent


def _awaited(
    build: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncMnemicClient, P], Coroutine[Any, Any, T]]:
    @functools.wraps(build)
    async def operation(client: AsyncMnemicClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client.send(build(*args, **kwargs))

    return operation


def _blocking(build: Callable[P, Call[T]]) -> Callable[Concatenate[MnemicClient, P], T]:
    @functools.wraps(build)
    def operation(client: MnemicClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.send(build(*args, **kwargs))

    return operation


class AsyncMnemicClient(_Client):
    """The client for code with an event loop. Use it in one loop: ``async with AsyncMnemicClient(...)``."""

    _http: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        self._http = httpx2.AsyncClient(timeout=self._patience.timeout, trust_env=False)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; idempotent."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Send one operation, as often as it takes, and return its value or raise its error."""
        request, http = self._request(call), _opened(self._http)
        for attempt in range(self._patience.retries + 1):
            try:
                outcome = _outcome(await http.request(**request))
            except httpx2.TransportError:
                outcome = Outcome(0)
            pause = pause_before_retry(outcome, attempt, self._patience)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return _value(call, outcome)

    # the operations: what each takes and returns is said where its call is built
    add = _awaited(calls.add)
    add_many = _awaited(calls.add_many)
    get = _awaited(calls.get)
    list = _awaited(calls.list_items)
    update = _awaited(calls.update)
    delete = _awaited(calls.delete)
    delete_all = _awaited(calls.delete_all)
    history = _awaited(calls.history)
    search = _awaited(calls.search)
    search_all = _awaited(calls.search_all)
    build_context = _awaited(calls.build_context)
    extract = _awaited(calls.extract)
    questions = _awaited(calls.questions)
    confirm = _awaited(calls.confirm)
    deny = _awaited(calls.deny)
    append = _awaited(session_calls.append)
    messages = _awaited(session_calls.messages)
    sessions = _awaited(session_calls.sessions)
    session = _awaited(session_calls.session)
    window = _awaited(session_calls.window)
    pin = _awaited(session_calls.pin)
    state = _awaited(session_calls.state)
    value = _awaited(session_calls.value)
    set_value = _awaited(session_calls.set_value)
    delete_value = _awaited(session_calls.delete_value)
    close_session = _awaited(session_calls.close_session)
    create_project = _awaited(shared_calls.create_project)
    projects = _awaited(shared_calls.projects)
    project = _awaited(shared_calls.project)
    rename_project = _awaited(shared_calls.rename_project)
    delete_project = _awaited(shared_calls.delete_project)
    members = _awaited(shared_calls.members)
    grant_role = _awaited(shared_calls.grant_role)
    revoke_role = _awaited(shared_calls.revoke_role)
    transfer_project = _awaited(shared_calls.transfer_project)
    add_resource = _awaited(shared_calls.add_resource)
    resources = _awaited(shared_calls.resources)
    resource = _awaited(shared_calls.resource)
    read_resource = _awaited(shared_calls.read_resource)
    delete_resource = _awaited(shared_calls.delete_resource)
    consent = _awaited(shared_calls.consent)
    grant_consent = _awaited(shared_calls.grant_consent)
    refuse_consent = _awaited(shared_calls.refuse_consent)
    forget_user = _awaited(shared_calls.forget_user)
    create_task = _awaited(task_calls.create_task)
    tasks = _awaited(task_calls.tasks)
    task = _awaited(task_calls.task)
    task_history = _awaited(task_calls.task_history)
    replay_task = _awaited(task_calls.replay_task)
    advance_task = _awaited(task_calls.advance_task)
    complete_task = _awaited(task_calls.complete_task)
    fail_task = _awaited(task_calls.fail_task)
    repair_task = _awaited(task_calls.repair_task)
    claim_task = _awaited(task_calls.claim_task)
    renew_task = _awaited(task_calls.renew_task)
    release_task = _awaited(task_calls.release_task)
    approvals = _awaited(task_calls.approvals)
    approve = _awaited(task_calls.approve)
    approve_edited = _awaited(task_calls.approve_edited)
    reject = _awaited(task_calls.reject)
    answer = _awaited(task_calls.answer)
    profile = _awaited(profile_calls.profile)
    profile_history = _awaited(profile_calls.profile_history)
    change_profile = _awaited(profile_calls.change_profile)
    put_profile = _awaited(profile_calls.put_profile)
    project_profile = _awaited(profile_calls.project_profile)
    project_profile_history = _awaited(profile_calls.project_profile_history)
    change_project_profile = _awaited(profile_calls.change_project_profile)
    put_project_profile = _awaited(profile_calls.put_project_profile)
    health = _awaited(profile_calls.health)
    ready = _awaited(profile_calls.ready)
    metrics = _awaited(profile_calls.metrics)


class MnemicClient(_Client):
    """The client for code without an event loop, safe in many threads: ``with MnemicClient(...)``."""

    _http: httpx2.Client | None = None

    def __enter__(self) -> Self:
        self._http = httpx2.Client(timeout=self._patience.timeout, trust_env=False)
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; idempotent."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def send(self, call: Call[T]) -> T:
        """Send one operation, as often as it takes, and return its value or raise its error."""
        request, http = self._request(call), _opened(self._http)
        for attempt in range(self._patience.retries + 1):
            try:
                outcome = _outcome(http.request(**request))
            except httpx2.TransportError:
                outcome = Outcome(0)
            pause = pause_before_retry(outcome, attempt, self._patience)
            if pause is None:
                break
            time.sleep(pause)
        return _value(call, outcome)

    # the operations: what each takes and returns is said where its call is built
    add = _blocking(calls.add)
    add_many = _blocking(calls.add_many)
    get = _blocking(calls.get)
    list = _blocking(calls.list_items)
    update = _blocking(calls.update)
    delete = _blocking(calls.delete)
    delete_all = _blocking(calls.delete_all)
    history = _blocking(calls.history)
    search = _blocking(calls.search)
    search_all = _blocking(calls.search_all)
    build_context = _blocking(calls.build_context)
    extract = _blocking(calls.extract)
    questions = _blocking(calls.questions)
    confirm = _blocking(calls.confirm)
    deny = _blocking(calls.deny)
    append = _blocking(session_calls.append)
    messages = _blocking(session_calls.messages)
    sessions = _blocking(session_calls.sessions)
    session = _blocking(session_calls.session)
    window = _blocking(session_calls.window)
    pin = _blocking(session_calls.pin)
    state = _blocking(session_calls.state)
    value = _blocking(session_calls.value)
    set_value = _blocking(session_calls.set_value)
    delete_value = _blocking(session_calls.delete_value)
    close_session = _blocking(session_calls.close_session)
    create_project = _blocking(shared_calls.create_project)
    projects = _blocking(shared_calls.projects)
    project = _blocking(shared_calls.project)
    rename_project = _blocking(shared_calls.rename_project)
    delete_project = _blocking(shared_calls.delete_project)
    members = _blocking(shared_calls.members)
    grant_role = _blocking(shared_calls.grant_role)
    revoke_role = _blocking(shared_calls.revoke_role)
    transfer_project = _blocking(shared_calls.transfer_project)
    add_resource = _blocking(shared_calls.add_resource)
    resources = _blocking(shared_calls.resources)
    resource = _blocking(shared_calls.resource)
    read_resource = _blocking(shared_calls.read_resource)
    delete_resource = _blocking(shared_calls.delete_resource)
    consent = _blocking(shared_calls.consent)
    grant_consent = _blocking(shared_calls.grant_consent)
    refuse_consent = _blocking(shared_calls.refuse_consent)
    forget_user = _blocking(shared_calls.forget_user)
    create_task = _blocking(task_calls.create_task)
    tasks = _blocking(task_calls.tasks)
    task = _blocking(task_calls.task)
    task_history = _blocking(task_calls.task_history)
    replay_task = _blocking(task_calls.replay_task)
    advance_task = _blocking(task_calls.advance_task)
    complete_task = _blocking(task_calls.complete_task)
    fail_task = _blocking(task_calls.fail_task)
    repair_task = _blocking(task_calls.repair_task)
    claim_task = _blocking(task_calls.claim_task)
    renew_task = _blocking(task_calls.renew_task)
    release_task = _blocking(task_calls.release_task)
    approvals = _blocking(task_calls.approvals)
    approve = _blocking(task_calls.approve)
    approve_edited = _blocking(task_calls.approve_edited)
    reject = _blocking(task_calls.reject)
    answer = _blocking(task_calls.answer)
    profile = _blocking(profile_calls.profile)
    profile_history = _blocking(profile_calls.profile_history)
    change_profile = _blocking(profile_calls.change_profile)
    put_profile = _blocking(profile_calls.put_profile)
    project_profile = _blocking(profile_calls.project_profile)
    project_profile_history = _blocking(profile_calls.project_profile_history)
    change_project_profile = _blocking(profile_calls.change_project_profile)
    put_project_profile = _blocking(profile_calls.put_project_profile)
    health = _blocking(profile_calls.health)
    ready = _blocking(profile_calls.ready)
    metrics = _blocking(profile_calls.metrics)


H = TypeVar("H")


def _opened(http: H | None) -> H:
    if http is None:
        raise InvalidInput("client_not_open", "Enter the client first: with MnemicClient(...).")
    return http


def _outcome(answer: httpx2.Response) -> Outcome:
    try:
        value = answer.json()
    except ValueError:
        value = answer.text
    return Outcome(answer.status_code, value, seconds(answer.headers.get("retry-after")))


def _value(call: Call[T], outcome: Outcome) -> T:
    if not outcome.ok:
        raise error_of(outcome)
    try:
        return call.read(outcome.value)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise unreadable() from None


def _address(base_url: str) -> str:
    parsed = urlsplit(base_url)
    if parsed.scheme not in ("http", "https") or not parsed.hostname or parsed.query:
        raise ConfigurationError(
            "service_url_invalid", "Write the service's address as https://host, without ? and #."
        )
    return base_url.rstrip("/")


def _headers(api_key: str, places: Mapping[str, str | None]) -> dict[str, str | bytes]:
    key = api_key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigurationError(
            "api_key_invalid", "The key is blank or holds characters that no header can carry."
        )
    about: dict[str, str | bytes] = {
        "accept": "application/json",
        "user-agent": f"mnemic-client/{__version__}",
    }
    return about | {"authorization": f"Bearer {key}"} | _places(places)


def _places(places: Mapping[str, str | None]) -> dict[str, str | bytes]:
    """Return the headers that say whose memories are meant; they are UTF-8, as the service reads them."""
    return {
        f"mnemic-{name}": clean_id(value, name).encode()
        for name, value in places.items()
        if value is not None
    }
