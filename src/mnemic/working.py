"""What does an agent keep in mind during one call? Layer 1: in this process only, gone at the end.

``WorkingMemory`` is entered with ``with`` or ``async with``. At the end, also after an error, it is
destroyed, and what is worth keeping goes to a callback as one message for the session: what was done, what
is still open, which tools were used. No I/O of its own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable, iscoroutinefunction
from typing import Self, TypeVar

from mnemic.errors import InvalidInput
from mnemic.model import Role, Turn

MAX_TODOS = 200
MAX_TOOL_CALLS = 200
MAX_NOTES = 200
MAX_VALUES = 200
MAX_TEXT = 10_000
MAX_TOTAL = 2_000_000
MAX_OUTCOME = 2_000
_SHOWN = 100

Kept = TypeVar("Kept")
Fold = Callable[[Turn], object]
"""Takes the message for the session; with ``async with`` it may be a coroutine function."""


@dataclass(slots=True)
class Todo:
    """Something to do in this call."""

    text: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, and how it ended; long texts are cut to 10,000 characters."""

    tool: str
    arguments: str = ""
    result: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is left of a call: todos, uses by tool, and the kind of error that ended it."""

    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    tools: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None

    def __bool__(self) -> bool:
        return bool(self.done or self.open or self.tools or self.error)

    def text(self) -> str:
        """Return one line a kind of thing, 2,000 characters at most."""
        tools = (f"{name} x{n}" if n > 1 else name for name, n in self.tools.items())
        lines = [
            _line("Done", list(self.done), "; "),
            _line("Open", list(self.open), "; "),
            _line("Tools used", list(tools), ", "),
            f"Stopped by an error: {self.error[:_SHOWN]}" if self.error else "",
        ]
        return "\n".join(line for line in lines if line)


class WorkingMemory:
    """Todos, tool calls, notes and scratch values of one agent call.

    Holds at most 200 todos and 200 scratch values (InvalidInput ``working_memory_full`` beyond), the last 200
    tool calls and notes, and 2,000,000 characters in all. Used before or after its call it raises
    InvalidInput (``working_memory_closed``). It belongs to one task; it has no locks.
    """

    def __init__(self, fold: Fold | None = None, *, role: Role = "system") -> None:
        """``fold`` is given the message, with this ``role``, unless nothing happened."""
        self._fold = fold
        self._role: Role = role
        self._open = False
        self._clear()

    # ---- the list of what is to do

    def todo(self, text: str) -> int:
        """Add something to do, and return its number, from 1."""
        self._require_open()
        if len(self._todos) >= MAX_TODOS:
            raise _full("todos", MAX_TODOS)
        kept = _cut(text)
        self._take(len(kept))
        self._todos.append(Todo(kept))
        return len(self._todos)

    def done(self, number: int) -> None:
        """Tick off a todo. Raises InvalidInput (``todo_not_found``)."""
        self._require_open()
        if type(number) is not int or not 1 <= number <= len(self._todos):
            raise InvalidInput("todo_not_found", "There is no todo of this number.")
        self._todos[number - 1].done = True

    @property
    def todo_list(self) -> tuple[Todo, ...]:
        """The todos in order; changing one of these changes nothing."""
        self._require_open()
        return tuple(Todo(todo.text, todo.done) for todo in self._todos)

    # ---- what was used and thought

    def tool_call(
        self, tool: str, arguments: str = "", result: str = "", *, failed: bool = False
    ) -> None:
        """Note a call of a tool; of more than 200 the oldest is forgotten, but still counted."""
        self._require_open()
        call = ToolCall(_cut(tool), _cut(arguments), _cut(result), failed)
        if call.tool not in self._used and len(self._used) >= MAX_TOOL_CALLS:
            raise _full("tools", MAX_TOOL_CALLS)
        self._keep(self._calls, call, MAX_TOOL_CALLS)
        self._used[call.tool] += 1

    def note(self, text: str) -> None:
        """Note a thought; of more than 200 the oldest is forgotten. Notes are never handed on."""
        self._require_open()
        self._keep(self._notes, _cut(text), MAX_NOTES)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The last tool calls, oldest first."""
        self._require_open()
        return tuple(self._calls)

    @property
    def notes(self) -> tuple[str, ...]:
        """The last notes, oldest first."""
        self._require_open()
        return tuple(self._notes)

    # ---- scratch values

    def set(self, name: str, value: object) -> None:
        """Keep a value of any kind; the length of its name counts, and its own if it is text or bytes."""
        self._require_open()
        _require_text(name)
        if name not in self._values and len(self._values) >= MAX_VALUES:
            raise _full("scratch values", MAX_VALUES)
        size = len(name) + _size(value)
        self._take(size - self._sizes.get(name, 0))
        self._values[name], self._sizes[name] = value, size

    def get(self, name: str, default: object = None) -> object:
        """Return the value of a name, ``default`` without one."""
        self._require_open()
        _require_text(name)
        return self._values.get(name, default)

    def drop(self, name: str) -> None:
        """Forget the value of a name, if there is one."""
        self._require_open()
        _require_text(name)
        self._values.pop(name, None)
        self._take(-self._sizes.pop(name, 0))

    # ---- the end

    def outcome(self, error: BaseException | None = None) -> Outcome:
        """Return what would be handed on now. Of an error only its kind is told, never its words."""
        self._require_open()
        return Outcome(
            done=tuple(todo.text for todo in self._todos if todo.done),
            open=tuple(todo.text for todo in self._todos if not todo.done),
            tools=dict(self._used),
            error=None if error is None else type(error).__name__,
        )

    def __enter__(self) -> Self:
        if iscoroutinefunction(self._fold):
            raise _needs_async()
        return self._begin()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        handed = self._end(error)
        if isawaitable(handed):
            if hasattr(handed, "close"):
                handed.close()
            raise _needs_async()

    async def __aenter__(self) -> Self:
        return self._begin()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        handed = self._end(error)
        if isawaitable(handed):
            await handed

    def _begin(self) -> Self:
        if self._open:
            raise InvalidInput("working_memory_in_use", "One call has one working memory.")
        self._clear()
        self._open = True
        return self

    def _end(self, error: BaseException | None) -> object:
        """Destroy everything, then hand the outcome on; a callback that fails finds nothing left here."""
        outcome = self.outcome(error)
        self._open = False
        self._clear()
        if self._fold is None or not outcome:
            return None
        return self._fold(Turn(self._role, outcome.text()))

    def _clear(self) -> None:
        self._todos: list[Todo] = []
        self._calls: deque[ToolCall] = deque()
        self._notes: deque[str] = deque()
        self._values: dict[str, object] = {}
        self._sizes: dict[str, int] = {}
        self._used: Counter[str] = Counter()
        self._characters = 0

    def _keep(self, kept: deque[Kept], value: Kept, most: int) -> None:
        """Add a value, in place of the oldest where there are ``most``; without room nothing changes."""
        full = len(kept) >= most
        self._take(_size(value) - (_size(kept[0]) if full else 0))
        if full:
            kept.popleft()
        kept.append(value)

    def _take(self, characters: int) -> None:
        if characters > 0 and self._characters + characters > MAX_TOTAL:
            raise _full("characters", MAX_TOTAL)
        self._characters += characters

    def _require_open(self) -> None:
        if not self._open:
            raise InvalidInput(
                "working_memory_closed", "A working memory lives as long as its `with` block."
            )


def _require_text(value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInput("working_text_not_text", "What to keep in mind here is text.")


def _cut(text: str) -> str:
    _require_text(text)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _size(value: object) -> int:
    if isinstance(value, ToolCall):
        return len(value.tool) + len(value.arguments) + len(value.result)
    return len(value) if isinstance(value, str | bytes | bytearray) else 0


def _line(label: str, parts: list[str], between: str) -> str:
    """Return a list in one line, with its beginning where it is long and how many more there are."""
    if not parts:
        return ""
    room = (MAX_OUTCOME - 200) // 3
    line, shown = f"{label}: ", 0
    for part in parts:
        text = " ".join(part.split())
        text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
        if len(line) + len(text) > room:
            break
        line, shown = line + (between if shown else "") + text, shown + 1
    left = len(parts) - shown
    return line + (f"{between}{left} more" if left else "")


def _needs_async() -> InvalidInput:
    return InvalidInput(
        "working_memory_needs_async", "This callback waits: enter with `async with`."
    )


def _full(what: str, most: int) -> InvalidInput:
    return InvalidInput(
        "working_memory_full", f"One call keeps at most {most:,} {what} in mind.", limit=most
    )
