"""Does metadata keep what it says, and refuse what may not be kept?"""

from __future__ import annotations

import random
import string
from typing import Any

import pytest

from mnemic import Actor, MemoryService


@pytest.mark.parametrize(
    "metadata",
    [{"$": "$"}, {"": ""}, {"…": ["-", "–"]}, {"a": "x" * 9_000}, {"k": {"": [None, True, 1.5]}},
     {"\u200b": "\u200b"}],
)  # fmt: skip
async def test_metadata_need_say_nothing(
    metadata: dict[str, Any], stub_memory: MemoryService, actor: Actor
) -> None:
    verdict = await stub_memory.add_explicit_memory(
        actor, "The ferry leaves at noon", metadata=metadata
    )
    assert (verdict.outcome, verdict.reason) == ("stored", None)
    (item,) = (await stub_memory.list(actor)).items
    assert item.metadata == metadata


async def test_a_secret_in_metadata_is_refused_also_where_texts_are_masked(
    stub_memory: MemoryService, actor: Actor
) -> None:
    key = (
        "gh" + "p_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))
    )
    for metadata in (
        {"note": key},
        {key: 1},
        {"deep": [{"er": ["$", key]}]},
        {"password": "hunter" + "2Sea!"},
    ):
        verdict = await stub_memory.add_explicit_memory(
            actor, "The ferry leaves at noon", metadata=metadata
        )
        assert verdict.outcome == "rejected", metadata
        assert (verdict.reason or "").startswith("sensitive_")
    assert (await stub_memory.list(actor)).total == 0
