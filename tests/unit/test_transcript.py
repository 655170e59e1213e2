"""Is every readable line of a transcript read, and every other one named by its number?"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trial
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.session.transcript import Problem, Spoken, read_transcript


def read(path: Path, *rows: object) -> list[Spoken | Problem]:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(read_transcript(path))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


def test_one_turn_a_line(file: Path) -> None:
    first, second = read(
        file,
        {"role": "user", "content": "你好", "session": "s1", "time": "2026-03-02T19:17:00+08:00"},
        {"role": "assistant", "content": "Hello", "speaker": "Ada"},
    )
    assert isinstance(first, Spoken)
    assert isinstance(second, Spoken)
    assert (first.line, first.session, first.turn.content) == (1, "s1", "你好")
    assert first.turn.created_at == datetime(2026, 3, 2, 11, 17, tzinfo=UTC)
    assert (second.session, second.turn.role, second.turn.speaker) == ("import", "assistant", "Ada")


def test_a_session_or_a_conversation_a_line(file: Path) -> None:
    said = read(
        file,
        {"id": "a", "turns": [{"role": "user", "content": "one"}, {"content": "two"}]},
        {
            "conv_id": "c1",
            "corpus": [
                {"text": "three", "speaker": "Bo", "session": 4, "time": "2023-05-08 13:56"},
                {"text": "four", "speaker": "AI", "time": "1:56 pm on 8 May, 2023"},
            ],
        },
    )
    spoken = [one for one in said if isinstance(one, Spoken)]
    assert [one.turn.content for one in spoken] == ["one", "two", "three", "four"]
    assert [one.session for one in spoken] == ["a", "a", "4", "import"]
    assert [one.user for one in spoken] == [None, None, "c1", "c1"]
    assert [one.turn.role for one in spoken] == ["user", "user", "user", "assistant"]
    assert spoken[2].turn.created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert spoken[3].turn.created_at is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{not json", "line_not_json"),
        ("[" * 100_000, "line_not_json"),
        ("[1]", "line_not_an_object"),
        ({"role": "user"}, "line_not_a_turn"),
        ({"role": "narrator", "content": "x"}, "unknown_role"),
        ({"role": ["user"], "content": "x"}, "unknown_role"),
        ({"role": "user", "content": 5}, "content_not_text"),
        ({"content": "x", "session": ""}, None),
        ({"content": "x", "session": "a\u200bb"}, "invalid_id"),
        ({"content": "x", "session": 7}, "invalid_id"),
        ({"content": "x", "time": "2026-03-02T09:14:00"}, "naive_datetime"),
        ({"content": "x", "time": "yesterday"}, "invalid_datetime"),
        ({"turns": None}, "line_not_a_turn"),
        ({"turns": 5}, "line_not_a_turn"),
        ({"turns": ["text"]}, "line_not_an_object"),
        ({"corpus": {}, "conv_id": "c"}, "line_not_a_turn"),
        ({"corpus": ["text"], "conv_id": "c"}, "line_not_an_object"),
        ({"corpus": []}, "invalid_id"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_rest_goes_on(
    file: Path, row: object, reason: str | None
) -> None:
    found = read(file, {"content": "before"}, row, "", {"content": "after"})
    problems = [one for one in found if isinstance(one, Problem)]
    assert [(one.line, one.reason) for one in problems] == ([(2, reason)] if reason else [])
    spoken = [one for one in found if isinstance(one, Spoken)]
    assert (spoken[0].turn.content, spoken[-1].turn.content) == ("before", "after")
    assert spoken[-1].line == 4


def test_a_broken_turn_does_not_take_the_others_of_its_session(file: Path) -> None:
    found = read(
        file,
        {"id": "a", "turns": [{"content": "one"}, {"content": None}, {"content": "three"}]},
    )
    assert [one.turn.content for one in found if isinstance(one, Spoken)] == ["one", "three"]
    assert [one.reason for one in found if isinstance(one, Problem)] == ["content_not_text"]


def test_a_gzipped_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"content": "\xe4\xbd\xa0\xe5\xa5\xbd"}\r\n{"content": "x"}'))
    assert [one.turn.content for one in read_transcript(path) if isinstance(one, Spoken)] == [
        "你好",
        "x",
    ]


def test_a_file_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as missing:
        list(read_transcript(tmp_path / "none.jsonl"))
    assert missing.value.code == "file_not_found"
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b'{"content": "x"}\n' * 1000)[:-20])
    for path in (tmp_path, cut):
        with pytest.raises(InvalidInput) as unreadable:
            list(read_transcript(path))
        assert unreadable.value.code == "file_unreadable"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("role", "content", "session", "turns", "corpus", "text", "id", "time")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@trial(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(st.lists(JSON, max_size=4))
def test_any_json_is_read_or_named(file: Path, rows: list[object]) -> None:
    found = read(file, *(json.dumps(row) for row in rows), {"content": "the end"})
    last = found[-1]
    assert isinstance(last, Spoken)
    assert last.turn.content == "the end"
    assert {one.line for one in found} <= set(range(1, len(rows) + 2))


def test_a_result_comes_after_its_call_in_its_session(file: Path) -> None:
    call = {"id": "c1", "name": "clock", "arguments": {}}
    rows = [
        {"role": "assistant", "content": "", "tool_calls": [call], "session": "a"},
        {"role": "tool", "content": "noon", "tool_call_id": "c1", "session": "a"},
        {"role": "tool", "content": "noon", "tool_call_id": "c1", "session": "b"},
        {"role": "tool", "content": "noon", "session": "a"},
        {"role": "user", "content": "x", "tool_calls": [call]},
        {"role": "assistant", "content": "x", "tool_calls": "c1"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    called, answered, *odd = read_transcript(file)
    assert isinstance(called, Spoken)
    assert isinstance(answered, Spoken)
    assert (called.turn.tool_calls[0].name, answered.turn.tool_call_id) == ("clock", "c1")
    assert [problem.reason for problem in odd if isinstance(problem, Problem)] == [
        "tool_call_not_found",
        "tool_call_id_required",
        "tool_calls_misplaced",
        "invalid_tool_call",
    ]


def test_a_turn_of_a_corpus_that_cannot_be_kept_costs_no_other(file: Path) -> None:
    said = {"speaker": "Kim", "session": "a"}
    corpus = [
        said | {"text": "first", "time": "0001-01-01"},
        said | {"text": "second", "time": "2020-01-01"},
    ]
    file.write_text(json.dumps({"corpus": corpus, "conv_id": "kim"}), encoding="utf-8")
    odd, kept = read_transcript(file)
    assert isinstance(odd, Problem)
    assert isinstance(kept, Spoken)
    assert (odd.line, odd.reason, kept.turn.content) == (1, "datetime_out_of_range", "second")
