"""How many pages does the embedded PostgreSQL keep on machines of different sizes?"""

from __future__ import annotations

import pytest

from mnemic.storage.machine import memory, shared_buffers

GIB = 2**30


@pytest.mark.parametrize(
    ("size", "mebibytes"), [(GIB // 2, 128), (2 * GIB, 128), (4 * GIB, 256), (64 * GIB, 512)]
)
def test_a_sixteenth_of_the_memory_within_bounds(size: int, mebibytes: int) -> None:
    assert shared_buffers(size) == mebibytes


def test_this_machine_has_memory() -> None:
    assert memory() > 64 * 2**20
