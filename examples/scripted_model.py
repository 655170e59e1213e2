"""What stands in for a chat model in the examples? One that says what it was told to say, in order.

Put a real one in its place, for instance ``init_chat_model("openai:...")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr


class ScriptedModel(BaseChatModel):
    """Answers with the given messages one after the other, and keeps the prompts that it was given."""

    answers: list[AIMessage]
    _given: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _tools: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._given

    @property
    def system(self) -> str:
        """The system message of the last prompt, "" without one."""
        first = self._given[-1][0]
        return str(first.text) if first.type == "system" else ""

    @property
    def offered(self) -> list[str]:
        """The names of the tools that were offered last."""
        return self._tools[-1] if self._tools else []

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ScriptedModel:
        self._tools.append([getattr(tool, "name", "") for tool in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        answer = self.answers[min(len(self._given), len(self.answers) - 1)]
        self._given.append(list(messages))
        said = answer.model_copy(update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=said)])

    @property
    def _llm_type(self) -> str:
        return "scripted"


def says(text: str) -> AIMessage:
    """Return an answer."""
    return AIMessage(text)


def calls(tool: str, call_id: str = "call_1", **arguments: Any) -> AIMessage:
    """Return the call of a tool."""
    return AIMessage("", tool_calls=[{"id": call_id, "name": tool, "args": arguments}])
