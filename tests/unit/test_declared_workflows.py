"""Can an operator declare workflows in a file, and what is said of one that cannot be?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import ConfigurationError
from mnemic.tasks.declared import declared
from mnemic.tasks.workflows import DATA_APPROVAL, Step, Workflow

GOOD = {
    "report": [
        {"name": "write", "next": ["review"]},
        {"name": "review", "next": ["write", "done"], "waits": True},
        {"name": "done"},
    ],
    "翻译": [{"name": "译", "next": ["完"]}, {"name": "完", "next": []}],
}


def written(path: Path, told: object) -> Path:
    path.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    return path


def test_a_file_declares_what_python_would(tmp_path: Path) -> None:
    found = declared(written(tmp_path / "w.json", GOOD))
    assert found.of("report") == Workflow(
        "report",
        (Step("write", ("review",)), Step("review", ("write", "done"), waits=True), Step("done")),
    )
    assert found.of("翻译").first == "译"
    assert found.of("data_approval") == DATA_APPROVAL
    assert ("report", "review") not in found.claimable()
    assert declared(None).of("data_approval") == DATA_APPROVAL


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([], "a JSON object of task types"),
        ({"a": {}}, "a must be a list of steps"),
        ({"a": []}, "a: This workflow cannot be: it has 2 to 200 steps"),
        ({"a": ["b"]}, "a step of a is an object"),
        ({"a": [{"next": ["b"]}]}, "a step of a is an object"),
        ({"a": [{"name": "b", "nxt": ["c"]}]}, "a step of a is an object"),
        ({"a": [{"name": "b", "next": "c"}]}, "next a list of names"),
        ({"a": [{"name": 1, "next": []}]}, "a name is text"),
        ({"a": [{"name": "b", "next": [], "waits": "yes"}]}, "waits true or false"),
        ({"a": [{"name": "b", "next": ["c"]}, {"name": "b"}]}, "each named once"),
        ({"a": [{"name": "b", "next": ["b"]}, {"name": "c"}]}, "reached from the first"),
        ({"two words": [{"name": "b", "next": ["c"]}, {"name": "c"}]}, "one word"),
        ({"data_approval": [{"name": "b", "next": ["c"]}, {"name": "c"}]}, "this task type"),
    ],
)
def test_a_file_that_cannot_be_is_refused_and_says_why(
    tmp_path: Path, told: Any, said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        declared(written(tmp_path / "w.json", told))
    assert refused.value.code == "workflows_invalid"
    assert said in refused.value.message
    assert refused.value.message.startswith("MNEMIC_WORKFLOWS")


def test_a_file_that_is_not_there_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as away:
        declared(tmp_path / "none.json")
    assert away.value.code == "workflows_unreadable"
    assert "none.json" in away.value.message
    for raw in (b"{", b"\xff", b"[" * 100_000):
        (tmp_path / "w.json").write_bytes(raw)
        with pytest.raises(ConfigurationError) as broken:
            declared(tmp_path / "w.json")
        assert broken.value.code == "workflows_invalid"
