"""Does the benchmark of windows measure what it says, at a size for every run of the tests?"""

from __future__ import annotations

from pathlib import Path

from benchmarks import windows
from benchmarks.ours import world

from mnemic.settings import Settings


async def test_windows_are_measured_beside_bare_redis_and_a_bare_insert(
    settings: Settings, tmp_path: Path
) -> None:
    async with world(settings) as opened:
        lines = await windows.measured(opened, tmp_path / "data", seconds=0.1, sessions=3)
        cursor = await opened.owner.execute("select count(*) from floor_message")
        few = 150 // 5
        assert await cursor.fetchone() == (5 * (windows.CLIENTS + few),)
    told = [line.what for line in lines]
    assert len(told) == len(set(told)) == 6
    assert "2,000 a second offered" in told[0]
    assert [line.ratio is not None for line in lines] == [False, *[True] * 5]
    assert all(line.floor for line in lines)
    assert [bool(line.budget) and line.met is not None for line in lines] == [*[True] * 5, False]
