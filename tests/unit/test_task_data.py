"""What does a task's state take, and what does it refuse?"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.tasks.data import (
    MAX_ENCODED,
    MAX_STATE,
    checked_data,
    file_ref,
    merged,
    require_size,
    written,
)

BLOB = bytes((n * 7 + n // 13) % 256 for n in range(6_000))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def refusal(data: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        checked_data(data)
    return caught.value.code


@given(st.dictionaries(st.sampled_from(("a", "b-c", "名")), JSON))
def test_what_is_taken_is_read_back_the_same(data: dict[str, Any]) -> None:
    if any("file_ref" in str(value) for value in data.values()):
        return
    assert checked_data(data) == data
    assert json.loads(written(checked_data(data)).encode()) == data


def test_what_is_taken_is_the_callers_no_more() -> None:
    inner = {"list": [1, 2], "pair": (3, 4)}
    taken = checked_data({"a": inner})
    inner["list"].append(5)  # type: ignore[attr-defined]
    assert taken == {"a": {"list": [1, 2], "pair": [3, 4]}}
    assert checked_data(None) == {}


@pytest.mark.parametrize("data", [[], "x", 7, [("a", 1)], {1, 2}])
def test_a_state_is_a_mapping(data: Any) -> None:
    assert refusal(data) == "state_not_an_object"


@pytest.mark.parametrize("key", ["", "two words", "a@b.example", "x" * 65, "a\x00", 7, None, "a:b"])
def test_names_in_clear_are_single_words(key: Any) -> None:
    assert refusal({key: 1}) == "invalid_state_key"


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        2**63,
        -(2**70),
        {1},
        object(),
        {7: 1},
        1j,
        nested(40),
        nested(5_000),
    ],
)
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    assert refusal({"a": value}) == "state_not_json"


def test_a_state_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert refusal({"a": loop}) == "state_not_json"


def test_enumerations_are_their_values() -> None:
    class Colour(str, Enum):  # noqa: UP042  (StrEnum spells itself, this one does not)
        RED = "red"

    class Number(IntEnum):
        ONE = 1

    taken = checked_data({"a": Colour.RED, "b": Number.ONE})
    assert written(taken) == '{"a":"red","b":1}'


def test_the_limit_is_of_bytes_of_json() -> None:
    room = MAX_STATE - len('{"a":""}')
    assert checked_data({"a": "a " * (room // 2)})
    assert refusal({"a": "a " * (room // 2 + 1)}) == "state_too_large"
    assert refusal({"a": "数 " * (room // 4 + 1)}) == "state_too_large"
    assert refusal({"a": "ten million " * 900_000}) == "state_too_large"
    assert refusal({f"n{n}": "a " * 500 for n in range(300)}) == "state_too_large"
    with pytest.raises(InvalidInput):
        require_size(merged({"a": "x " * 70_000}, {"b": "x " * 70_000}, ()))
    require_size(merged({"a": "x " * 70_000}, {"b": "x " * 70_000}, ["a"]))


def lines(text: str, width: int, end: str) -> str:
    return end.join(text[at : at + width] for at in range(0, len(text), width))


PLAIN = base64.b64encode(BLOB).decode()


@pytest.mark.parametrize(
    "value",
    [
        BLOB,
        bytearray(BLOB),
        memoryview(BLOB),
        b"",
        PLAIN,
        base64.urlsafe_b64encode(BLOB).decode(),
        BLOB.hex(),
        lines(PLAIN, 76, "\r\n"),
        lines(PLAIN, 64, "\n"),
        "data:image/png;base64," + PLAIN,
        f"see ![a picture](data:image/png;base64,{PLAIN}) here",
        json.dumps({"image": PLAIN}),
        json.dumps({"image": lines(PLAIN, 76, "\n")}),
        lines(PLAIN, 4, " "),
        lines(PLAIN, 10, "\t"),
        lines(PLAIN, 76, " \t "),
        "the scan: " + lines(PLAIN, 8, "  "),
        "\n".join(lines(line, 10, " ") for line in lines(PLAIN, 64, "\n").split("\n")),
        "\n".join(lines(line, 4, " ") for line in lines(PLAIN, 64, "\n").split("\n")),
        json.dumps(
            {"image": "\n".join(lines(row, 8, "\t") for row in lines(PLAIN, 64, " ").split())}
        ),
        list(BLOB),
        {"inner": ["deep", {"file": PLAIN}]},
    ],
    ids=range(22),
)
def test_files_are_refused_in_whatever_form(value: Any) -> None:
    assert refusal({"a": value}) == "binary_in_state"


def test_a_file_as_a_name_is_refused() -> None:
    assert refusal({"a": {PLAIN: 1}}) == "binary_in_state"


@pytest.mark.parametrize(
    "value",
    [
        PLAIN[:MAX_ENCODED],
        "The report is ready, and every line of it was read twice.\n" * 200,
        "words without any punctuation at all follow each other here " * 200,
        "报告已经写好了，每一行都读了两遍。" * 400,
        "https://example.org/" + "/".join(["path?x=1&y=2#z"] * 500),
        "\n".join(f"2026-03-02 09:{n % 60:02d} row {n} ok" for n in range(500)),
        list(range(5_000)),
        [n / 7 for n in range(5_000)],
        [True] * 5_000,
        list(BLOB[:MAX_ENCODED]),
        "\n".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(200)),
        "\r\n".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(200)),
        [n % 100 for n in range(5_000)],
        " ".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(200)),
        "THE quick Brown fox\tJumps over THE lazy Dog and " * 200,
        "tree bird Lake SAND wind Moon rain " * 300,
        "Item001 Item002 Item003 item004 2026_03 " * 300,
        "getElementById addEventListener querySelector setTimeout iPhone " * 200,
        "\n".join(base64.b64encode(hashlib.sha1(bytes([n])).digest()).decode() for n in range(200)),
    ],
    ids=range(19),
)
def test_texts_and_numbers_are_no_files(value: Any) -> None:
    assert checked_data({"a": value})["a"] == value


def test_a_file_is_named_with_its_size() -> None:
    assert file_ref("s3://bucket/scan.pdf", 0) == {"file_ref": "s3://bucket/scan.pdf", "size": 0}
    assert checked_data({"a": file_ref("file:///x", 5) | {"pages": 3}})
    for where, size in (
        ("", 1),
        ("x" * 2049, 1),
        (None, 1),
        ("a", -1),
        ("a", 1.5),
        ("a", True),
        ("a", None),
    ):
        with pytest.raises(InvalidInput) as caught:
            file_ref(where, size)  # type: ignore[arg-type]
        assert caught.value.code == "invalid_file_ref"
    assert (
        refusal({"a": {"file_ref": "data:text/plain;base64,QUJD", "size": 3}}) == "invalid_file_ref"
    )
    assert refusal({"a": [{"file_ref": "s3://b/x"}]}) == "invalid_file_ref"


def test_half_a_surrogate_pair_is_written_in_ascii() -> None:
    text = written({"a": "\ud83d", "b": "数"})
    assert text.isascii()
    assert json.loads(text) == {"a": "\ud83d", "b": "数"}
    assert written({"b": "数"}) == '{"b":"数"}'


def test_a_long_text_of_long_words_is_read_in_a_moment() -> None:
    begun = time.process_time()
    assert refusal({"a": ("x" * 4_000 + " ") * 2_500}) == "state_too_large"
    assert refusal({"a": PLAIN * 1_300}) == "binary_in_state"
    assert time.process_time() - begun < 30
