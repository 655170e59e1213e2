"""Does LangGraph's own suite for checkpointers pass, all of it?"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from episode_world import KIM, opened
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from mnemic.settings import Settings


async def test_every_capability_of_the_conformance_suite_passes(settings: Settings) -> None:
    async with opened(settings) as (episodes, _):

        @checkpointer_test(name="mnemic")
        async def registered() -> AsyncGenerator[Any, None]:
            yield episodes.checkpointer(KIM)

        report = await validate(registered)
    failures = {name: one.failures for name, one in report.results.items() if one.failures}
    assert failures == {}
    assert {one.value for one in ALL_CAPABILITIES} == set(report.results)
    assert all(one.detected and one.passed for one in report.results.values()), report.results
    assert sum(one.tests_passed for one in report.results.values()) >= 75
    assert sum(one.tests_skipped for one in report.results.values()) == 0
