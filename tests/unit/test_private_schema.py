"""What is the schema called that lies beside ours? Pure."""

from __future__ import annotations

import pytest

from mnemic.storage.migrate import private_schema


def test_it_is_named_after_ours() -> None:
    assert private_schema("mnemic") == "mnemic_private"
    assert private_schema("m" * 55) == "m" * 55 + "_private"


@pytest.mark.parametrize("length", [56, 60, 63])
def test_a_long_name_stays_a_name_of_its_own(length: int) -> None:
    one, other = (private_schema("m" * (length - 1) + end) for end in "xy")
    assert len(one) == len(other) == 63
    assert one != other
    assert one.endswith("_private")
