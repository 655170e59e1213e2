"""A plugin for pytest (``-p services.pooled``): the service login of every test goes through PgBouncer.

In transaction mode, with three sessions a database: statements of many clients follow each other on each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from services.poolers import started

if TYPE_CHECKING:
    from conftest import Server


@pytest.fixture(scope="session", autouse=True)
def behind_a_pooler(server: Server) -> Iterator[None]:
    with started(server, size=3, every=True) as pooler:
        server.pooler = pooler.url("service", "").removesuffix("/")
        yield
        # no statement that was prepared may have come this far
        assert pooler.sessions() > 0
