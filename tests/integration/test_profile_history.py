"""Does the history of profiles hold what is asked of it in partitions of our own?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve

pytest.register_assert_rewrite("history_contract")

from history_contract import *  # noqa: E402, F403
from history_contract import Ground  # noqa: E402

if TYPE_CHECKING:
    from conftest import Prepare


@pytest.fixture
async def ground(settings: Settings, prepare: Prepare) -> Ground:
    await prepare(settings, StubEmbedder(), curve())
    return Ground(settings, chunked=False)
