"""What can a model do with tasks through MCP? Begin them, carry them on, and see where they stand."""

from __future__ import annotations

from inspect import getdoc
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from mnemic.integrations.mcp.answers import TaskAnswer, TasksAnswer, task_answer
from mnemic.integrations.mcp.door import Caller, Door, told
from mnemic.integrations.mcp.tools import ADDS, READS
from mnemic.tasks.state import TaskStatus

Id = Annotated[str, Field(description="The id of a task.")]
Data = Annotated[dict[str, Any] | None, Field(description="What to set in the state of the task.")]
Event = Annotated[
    str | None, Field(description="A UUID of your own: the same call again changes nothing more.")
]
To = Annotated[str | None, Field(description="The step to go to, where several follow.")]
Step = Annotated[str | None, Field(description="The step that is done, to be sure of it.")]


class TaskTools:
    """The tools for work that takes hours or days."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def register(self, server: MCPServer[Any]) -> None:
        """Add the tools to a server."""
        for tool, hints in (
            (self.task_create, ADDS),
            (self.task_show, READS),
            (self.task_list, READS),
            (self.task_advance, ADDS),
            (self.task_complete, ADDS),
            (self.task_fail, ADDS),
        ):
            server.add_tool(tool, description=getdoc(tool), annotations=hints)

    async def task_create(
        self,
        caller: Caller,
        task_type: Annotated[str, Field(description="The name of a workflow.")],
        state_data: Data = None,
        event_id: Event = None,
    ) -> TaskAnswer:
        """Begin a task at the first step of its workflow."""
        with told():
            actor, memory = self._door.who(caller, "write"), await self._door.memory()
            task = await memory.tasks.create(actor, task_type, state_data, event_id=event_id)
        return task_answer(task)

    async def task_show(self, caller: Caller, id: Id) -> TaskAnswer:
        """Show where a task stands."""
        with told():
            actor, memory = self._door.who(caller, "read"), await self._door.memory()
            task = await memory.tasks.get(actor, id)
        return task_answer(task)

    async def task_list(
        self,
        caller: Caller,
        limit: Annotated[int, Field(description="How many, 1 to 1,000.")] = 20,
        cursor: Annotated[str | None, Field(description="From the page before.")] = None,
        task_type: Annotated[str | None, Field(description="Only tasks of this workflow.")] = None,
        status: Annotated[
            TaskStatus | None, Field(description="Only tasks that are in this state.")
        ] = None,
    ) -> TasksAnswer:
        """List the user's tasks, the last changed first."""
        with told():
            actor, memory = self._door.who(caller, "read"), await self._door.memory()
            page = await memory.tasks.list(
                actor, limit=limit, cursor=cursor, task_type=task_type, status=status
            )
        return TasksAnswer(
            tasks=[task_answer(task) for task in page.tasks], total=page.total, cursor=page.cursor
        )

    async def task_advance(
        self,
        caller: Caller,
        id: Id,
        to: To = None,
        step: Step = None,
        data: Data = None,
        event_id: Event = None,
    ) -> TaskAnswer:
        """Go on to the next step of a task, or start a failed step again."""
        with told():
            actor, memory = self._door.who(caller, "write"), await self._door.memory()
            task = await memory.tasks.advance(
                actor, id, to, step=step, data=data, event_id=event_id
            )
        return task_answer(task)

    async def task_complete(
        self,
        caller: Caller,
        id: Id,
        to: To = None,
        step: Step = None,
        data: Data = None,
        event_id: Event = None,
    ) -> TaskAnswer:
        """End a task from its last step."""
        with told():
            actor, memory = self._door.who(caller, "write"), await self._door.memory()
            task = await memory.tasks.complete(
                actor, id, to, step=step, data=data, event_id=event_id
            )
        return task_answer(task)

    async def task_fail(
        self,
        caller: Caller,
        id: Id,
        reason: Annotated[str, Field(description="Why the step failed, in one sentence.")],
        step: Step = None,
        data: Data = None,
        event_id: Event = None,
    ) -> TaskAnswer:
        """Say that the current step of a task failed, and why. It can be started again."""
        with told():
            actor, memory = self._door.who(caller, "write"), await self._door.memory()
            task = await memory.tasks.fail(
                actor, id, reason, step=step, data=data, event_id=event_id
            )
        return task_answer(task)
