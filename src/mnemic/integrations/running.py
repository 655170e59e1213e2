"""With what was the LangGraph run started that we are called from?"""

from __future__ import annotations

from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import get_runtime

from mnemic.integrations.identity import Run


def current_run() -> Run:
    """Return the run around this call; an empty one outside of any."""
    config = var_child_runnable_config.get()
    if not config:
        return Run()
    try:
        runtime = get_runtime()
    except (KeyError, RuntimeError):
        return Run(config=config)
    return run_of(runtime, config)


def run_of(runtime: Any, config: Any = None) -> Run:
    """Return the run that a runtime of LangGraph (or of a tool) tells about."""
    server = getattr(runtime, "server_info", None)
    given = config if config is not None else getattr(runtime, "config", None)
    return Run(
        server=None if server is None else server.user,
        context=getattr(runtime, "context", None),
        config=given,
    )
