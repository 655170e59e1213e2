"""Is a file that cannot be scored refused with its line, whatever is in it, and are floors held?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.evaluation import extract, judge, sensitive
from mnemic.evaluation.floors import Floors, misses, read_floors
from mnemic.evaluation.kinds import count_queries, evaluate
from mnemic.evaluation.rows import kind_of, read_rows

PAIR = {"first": "I like tea", "second": "I love tea", "label": "same"}
TEXT = {"text": "I like tea", "label": "clean"}
TALK = {
    "turns": [{"role": "user", "content": "I like tea"}],
    "expected": [{"memory_type": "preference", "must_contain": ["tea"], "scope": "user"}],
}
ASKED = {
    "conv_id": "c1",
    "corpus": [{"id": "1", "text": "I like tea", "session": None, "time": None}],
    "queries": [{"query": "What do I like?", "evidence_ids": ["1"]}],
}
GOOD: dict[str, dict[str, Any]] = {
    "judge": PAIR,
    "sensitive": TEXT,
    "extract": TALK,
    "retrieval": ASKED,
}
BAD: list[tuple[Any, Any]] = [
    (PAIR, None),
    (PAIR, []),
    (PAIR, 5),
    (PAIR, TEXT),
    (PAIR, PAIR | {"first": 1}),
    (PAIR, PAIR | {"label": "older"}),
    (TEXT, TEXT | {"text": None}),
    (TEXT, TEXT | {"label": "x"}),
    (TEXT, TEXT | {"label": "pii", "type": 5}),
    (TEXT, TEXT | {"type": "phone", "kind": "other"}),
    (TEXT, TEXT | {"label": "pii", "type": "synthetic-sentence", "spans": [[0, 1, []]]}),
    (TALK, TALK | {"turns": "abc", "expected": 5}),
    (TALK, TALK | {"turns": [{"role": 5}], "expected": [{}]}),
    (TALK, TALK | {"expected": [{"memory_type": "fact", "must_contain": [1], "scope": "user"}]}),
    (ASKED, ASKED | {"corpus": [None]}),
    (ASKED, ASKED | {"queries": 3}),
    (ASKED, ASKED | {"queries": [{"query": "What?", "corpus_end": "5"}]}),
    (ASKED, ASKED | {"queries": [{"query": "What?", "time": 2024}]}),
    (ASKED, {"corpus": [], "queries": []}),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def written(directory: Path, *rows: object) -> Path:
    path = directory / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def code_of(path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        list(read_rows(path))
    return caught.value.code


@pytest.mark.parametrize("kind", GOOD)
def test_good_rows_pass_and_are_known(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD[kind], GOOD[kind])
    assert [kind_of(row) for row in read_rows(path)] == [kind, kind]
    assert count_queries(path) == (2 if kind == "retrieval" else 0)


@pytest.mark.parametrize(("good", "bad"), BAD)
def test_a_bad_row_is_refused_by_its_line(good: object, bad: object, tmp_path: Path) -> None:
    path = written(tmp_path, good, bad)
    with pytest.raises(InvalidInput) as caught:
        list(read_rows(path))
    assert caught.value.code == "invalid_row"
    assert f"Line 2 of {path}" in caught.value.message
    assert caught.value.details == {"line": 2}


def test_a_message_never_repeats_a_row(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        list(read_rows(written(tmp_path, TEXT | {"label": "marzipan"})))
    assert "marzipan" not in str(caught.value)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=150,
    deadline=None,
)
@given(kind=st.sampled_from(["judge", "sensitive", "extract"]), changes=st.data())
def test_a_row_is_refused_or_can_be_scored(
    kind: str, changes: st.DataObject, tmp_path: Path
) -> None:
    row: dict[str, Any] = {**GOOD[kind]}
    others = [*row, "lang", "why", "type", "kind", "category", "spans"]
    for name in changes.draw(st.lists(st.sampled_from(others), max_size=3)):
        row[name] = changes.draw(JSON)
    path = written(tmp_path, GOOD[kind], row)
    try:
        rows = list(read_rows(path))
    except InvalidInput:
        assert code_of(path) == "invalid_row"
        return
    score: Any = {"judge": judge.score, "sensitive": sensitive.score, "extract": extract.score}[
        kind
    ]
    assert score(rows)["kind"] == kind


@given(data=st.binary(min_size=1, max_size=60))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=80,
    deadline=None,
)
def test_random_bytes_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(data + b"\xff")
    assert code_of(path) in {"line_not_json", "invalid_row", "file_unreadable"}


def test_damaged_gzip_directories_and_missing_files_are_told_apart(tmp_path: Path) -> None:
    whole = gzip.compress((json.dumps(PAIR) + "\n").encode() * 50)
    for name, data in {
        "cut": whole[:-9],
        "bent": whole[:12] + b"\xff" * 20,
        "head": whole[:2],
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert code_of(path) == "file_unreadable", name
    assert code_of(tmp_path) == "file_unreadable"
    assert code_of(tmp_path / "nothing") == "file_not_found"
    deep = tmp_path / "deep"
    deep.write_text("[" * 100_000, encoding="utf-8")
    assert code_of(deep) == "line_not_json"


@pytest.mark.parametrize("text", ["", '{"a": 1}\n'])
async def test_a_file_without_rows_of_a_kind_is_no_missing_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    for file in (path, Path("/dev/null") if not text else path):
        with pytest.raises(InvalidInput) as caught:
            await evaluate(file)
        assert caught.value.code == "unknown_eval_kind"


# ---- floors

REPORT = {"set": "mine", "by": {"all": {"accuracy": 0.5, "recall": None}}}


@pytest.mark.parametrize(
    "text", ["[]", "null", "\x00\xff", '{"a": 1}', '{"a": {"b": 0.5}}', '{"a": {"b": ["least", NaN]}}',
             '{"a": {"b": ["some", 0.5]}}', '{"a": {"b": ["least", 0.5, 1]}}', '{"a": {"b": ["most"]}}'],
)  # fmt: skip
def test_floors_of_another_form_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "floors.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput) as caught:
        read_floors(path)
    assert caught.value.code == "floors_invalid"


def test_floors_that_are_not_there_are_refused(tmp_path: Path) -> None:
    for path, code in ((tmp_path / "no", "file_not_found"), (tmp_path, "file_unreadable")):
        with pytest.raises(InvalidInput) as caught:
            read_floors(path)
        assert caught.value.code == code


def test_floors_are_held_or_missed(tmp_path: Path) -> None:
    path = tmp_path / "floors.json"
    wanted = {"by/all/accuracy": ["least", 0.5], "by/all/recall": ["most", 1]}
    path.write_text(json.dumps({"mine": wanted, "another": {}}), encoding="utf-8")
    assert misses([REPORT], read_floors(path)) == ["mine: by/all/recall has no value, most is 1.0"]
    tight: Floors = {"mine": {"by/all/accuracy": ("most", 0.4)}}
    assert misses([REPORT], tight) == ["mine: by/all/accuracy is 0.500, most is 0.4"]


@pytest.mark.parametrize("path", ["by", "by/all/speed", "by/all/accuracy/more", "", "set"])
def test_a_floor_of_no_figure_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        misses([REPORT], {"mine": {path: ("least", 0.1)}})
    assert caught.value.code == "floors_invalid"
