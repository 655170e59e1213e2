"""Is the binary form of a vector the one that pgvector reads?"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.storage.halfvec import pack, pack_all


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=300))
def test_each_value_is_the_nearest_half_float(values: list[float]) -> None:
    dims, reserved, *sent = struct.unpack(f">hh{len(values)}e", pack(values))
    assert (dims, reserved) == (len(values), 0)
    for before, after in zip(values, sent, strict=True):
        assert abs(before - after) <= 2**-12


def test_the_form_is_that_of_pgvector() -> None:
    assert pack([1.0, -2.0]) == bytes.fromhex("0002 0000 3c00 c000")
    assert len(pack([0.0] * 4000)) == 4 + 2 * 4000


@pytest.mark.parametrize("value", [65520.0, -70000.0])
def test_what_does_not_fit_is_an_error_and_no_infinity(value: float) -> None:
    with pytest.raises(OverflowError):
        pack([value])


def test_many_vectors_are_an_array_of_the_form_of_postgresql() -> None:
    head = bytes.fromhex("00000001 00000000 00000539 00000002 00000001")
    one = bytes.fromhex("00000006 0001 0000 3c00")
    assert pack_all([[1.0], [1.0]], 0x539) == head + one * 2
    assert pack_all([], 0x539) == bytes.fromhex("00000000 00000000 00000539")
