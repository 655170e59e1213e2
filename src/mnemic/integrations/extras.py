"""Is the framework installed that an integration is for?"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from mnemic.errors import ConfigurationError

NEEDED = {
    "langgraph": ("langgraph.store",),
    "langchain": ("langchain.agents", "langgraph.store"),
    "mcp": ("mcp.server.mcpserver",),
}
"""What each extra must bring, by its name."""


def require_extra(extra: str) -> None:
    """Raise ConfigurationError (``integration_not_installed``) unless the packages of an extra are here."""
    if not all(map(_there, NEEDED[extra])):
        raise ConfigurationError(
            "integration_not_installed",
            f"This needs more packages: pip install '.[{extra}]' in the clone.",
            extra=extra,
        )


def loaded(extra: str, module: str, name: str) -> object:
    """Return an object of an integration, once its framework is known to be here."""
    require_extra(extra)
    return getattr(import_module(module), name)


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
