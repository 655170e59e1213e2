"""How does an agent of LangChain remember without being told to? Middleware reads before it and learns after.

    create_agent(model, tools, middleware=[MemoryMiddleware(memory), SummarizationMiddleware(...),
                                           HumanInTheLoopMiddleware(...)])

It comes first: messages are logged before a summary takes their place. Where others write to the system
message too, ``MemoryInjection`` comes last instead, so that what is known stands at its end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypeVar

import structlog
from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import Runtime

from mnemic.checks import whole
from mnemic.errors import (
    ChatError,
    Conflict,
    ConsentRequired,
    EmbeddingError,
    MnemicError,
    RateLimited,
    StorageError,
)
from mnemic.integrations.crossing import AnyMemory, Crossing
from mnemic.integrations.identity import Run, actor_of, enabled
from mnemic.integrations.langchain.learning import learn, log_turns
from mnemic.integrations.langchain.tools import ADD, SEARCH, memory_tools
from mnemic.integrations.langchain.turns import last_said, turns_of
from mnemic.integrations.running import run_of
from mnemic.model import MAX_QUERY, Actor
from mnemic.text import normalise

_LOG = structlog.get_logger("mnemic.agent")
_PASSING = (ConsentRequired, StorageError, EmbeddingError, ChatError, RateLimited, Conflict)
"""What an agent goes on without: the memory is away, its user does not want one, or it has enough."""
T = TypeVar("T")
Request = ModelRequest[Any]
Response = ModelResponse[Any]


class MemoryState(AgentState[Any]):
    """The agent's state with the id of the last message that was logged."""

    mnemic_logged: NotRequired[Annotated[str, PrivateStateAttr]]


@dataclass(frozen=True, slots=True)
class _Use:
    """One memory, and how agents use it."""

    crossing: Crossing
    actor: Actor | None
    enable_memory: bool
    strict: bool

    def asker(self, runtime: Runtime[Any]) -> Actor | None:
        """Return who asks, None where this run uses no memory."""
        run: Run = run_of(runtime, var_child_runnable_config.get())
        return actor_of(run, self.actor) if enabled(run, self.enable_memory) else None

    async def attempt(self, work: Coroutine[Any, Any, T], otherwise: T) -> T:
        """Do work of the memory; what an agent can do without is logged by its code."""
        try:
            return await work
        except _PASSING as error:
            if self.strict:
                raise
            _told(error)
            return otherwise

    async def context(self, actor: Actor, query: str, budget: int) -> str:
        return await self.crossing.service.build_context(actor, query, budget)


class MemoryInjection(AgentMiddleware[MemoryState, Any, Any]):
    """Appends what is known and bears on the user's message to the end of the system message."""

    state_schema = MemoryState

    def __init__(
        self,
        memory: AnyMemory,
        *,
        enable_memory: bool = True,
        budget_tokens: int = 800,
        actor: Actor | None = None,
        strict: bool = False,
    ) -> None:
        """``enable_memory`` counts where a run says nothing (``enable_memory`` in its configurable or
        context); ``budget_tokens`` is 20 to 100,000. ``actor`` asks where a run names nobody. ``strict``
        lets the agent fail with the memory; else it goes on without. Raises InvalidInput
        (``budget_tokens_out_of_range``).
        """
        self._use = _Use(Crossing(memory), actor, enable_memory, strict)
        self._budget = whole(budget_tokens, 20, 100_000, "budget_tokens")
        self.tools = []

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Response]) -> Response:
        """Call the model with what is known."""
        asked = self._asked(request)
        text = "" if asked is None else self._use.crossing.wait(self._known(*asked))
        return handler(self._with(request, text))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Call the model with what is known."""
        asked = self._asked(request)
        text = "" if asked is None else await self._use.crossing.run(self._known(*asked))
        return await handler(self._with(request, text))

    def _asked(self, request: Request) -> tuple[Actor, str] | None:
        """Return who asks and what about; None where nothing is to be looked up."""
        actor = self._use.asker(request.runtime)
        query = normalise(last_said(request.messages)).text[-MAX_QUERY:]
        return None if actor is None or not query.strip() else (actor, query)

    async def _known(self, actor: Actor, query: str) -> str:
        return await self._use.attempt(self._use.context(actor, query, self._budget), "")

    def _with(self, request: Request, text: str) -> Request:
        if not text:
            return request
        return request.override(system_message=_appended(request.system_message, text))


class MemoryMiddleware(MemoryInjection):
    """Logs what is said before anything shortens it, injects what is known, and learns after each turn."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        enable_memory: bool = True,
        budget_tokens: int = 800,
        inject: bool = True,
        capture: bool = True,
        tools: bool = True,
        actor: Actor | None = None,
        strict: bool = False,
    ) -> None:
        """As ``MemoryInjection``. ``inject=False`` leaves the system message to a MemoryInjection,
        ``capture=False`` logs and learns nothing, ``tools=False`` gives the agent no memory tools."""
        super().__init__(
            memory,
            enable_memory=enable_memory,
            budget_tokens=budget_tokens,
            actor=actor,
            strict=strict,
        )
        self._injects = inject
        self._captures = capture
        if tools:
            self.tools = memory_tools(memory, actor=actor, enable_memory=enable_memory)

    def before_model(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Log the messages that are new."""
        actor = self._capturing(runtime)
        if actor is None:
            return None
        return self._use.crossing.wait(self._logged(actor, state))

    async def abefore_model(
        self, state: MemoryState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Log the messages that are new."""
        actor = self._capturing(runtime)
        if actor is None:
            return None
        return await self._use.crossing.run(self._logged(actor, state))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Log the answer, and remember what the turn states."""
        actor = self._capturing(runtime)
        if actor is None:
            return None
        return self._use.crossing.wait(self._learnt(actor, state))

    async def aafter_agent(
        self, state: MemoryState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Log the answer, and remember what the turn states."""
        actor = self._capturing(runtime)
        if actor is None:
            return None
        return await self._use.crossing.run(self._learnt(actor, state))

    def _asked(self, request: Request) -> tuple[Actor, str] | None:
        return super()._asked(request) if self._injects else None

    def _with(self, request: Request, text: str) -> Request:
        if self.tools and self._use.asker(request.runtime) is None:
            request = request.override(tools=[one for one in request.tools if not _ours(one)])
        return super()._with(request, text)

    def _capturing(self, runtime: Runtime[Any]) -> Actor | None:
        return self._use.asker(runtime) if self._captures else None

    async def _logged(self, actor: Actor, state: MemoryState) -> dict[str, Any] | None:
        """Return the state's note of the last message that is logged; None where it is the same."""
        messages: Sequence[BaseMessage] = state["messages"]
        before = state.get("mnemic_logged")
        last = messages[-1].id if messages else None
        if last is None or last == before:
            return None
        turns = turns_of(messages, before)
        done = await self._use.attempt(self._log(actor, turns), False)
        return {"mnemic_logged": last} if done else None

    async def _log(self, actor: Actor, turns: Sequence[Any]) -> bool:
        await log_turns(self._use.crossing.service, actor, turns)
        return True

    async def _learnt(self, actor: Actor, state: MemoryState) -> dict[str, Any] | None:
        logged = await self._logged(actor, state)
        said = normalise(last_said(state["messages"])).text
        if said.strip():
            await self._use.attempt(learn(self._use.crossing.service, actor, said), None)
        return logged


def _appended(before: SystemMessage | None, text: str) -> SystemMessage:
    """Return the system message with a text at its end."""
    if before is None:
        return SystemMessage(content=text)
    if isinstance(before.content, str):
        return before.model_copy(update={"content": f"{before.content}\n\n{text}"})
    return before.model_copy(update={"content": [*before.content, {"type": "text", "text": text}]})


def _ours(tool: object) -> bool:
    return getattr(tool, "name", None) in (ADD, SEARCH)


def _told(error: MnemicError) -> None:
    _LOG.warning("agent_goes_on_without_memory", reason=error.code)
