"""Does the evaluation of the search measure what it says, on a conversation whose answers are known?"""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.evaluation import injection, retrieval

TURNS = [
    ("a1", "A", "Priya", "2025-05-09", "I planted four rows of beans behind the shed"),
    ("a2", "A", "Tom", "2025-05-09", "The train to Leeds was late again"),
    ("b1", "B", "Tom", "2 August, 2025", "Our boiler makes a whistling noise"),
    ("b2", "B", "Priya", "2 August, 2025", "The beans behind the shed are ripe now"),
    ("x1", None, "Tom", None, "The spare key hangs under the third step"),
]


def conversation(name: str = "garden", **more: Any) -> dict[str, Any]:
    names = ("id", "session", "speaker", "time", "text")
    corpus = [dict(zip(names, turn, strict=True)) for turn in TURNS]
    return {"conv_id": name, "lang": "en", "corpus": corpus, "queries": [], **more}


def query(text: str, *ids: str, **more: Any) -> dict[str, Any]:
    return {"query": text, "evidence_ids": list(ids), "category": "plain", **more}


async def test_known_answers_are_found_by_turn_session_and_category() -> None:
    queries = [
        query("Which noise does the boiler of Tom make?", "b1", evidence_sessions=["B"]),
        query("Where does the spare key hang?", "x1", category="things"),
        query("Who won the cup?", "a1", answerable=False),
    ]
    done: list[int] = []
    report = await retrieval.score([conversation(queries=queries)], ablation=True, step=done.append)
    assert report["kind"] == "retrieval"
    assert report["turn"]["en"] == {
        "n": 2, "r5": 1.0, "r10": 1.0, "r20": 1.0, "ndcg10": 1.0, "mrr": 1.0,
    }  # fmt: skip
    assert report["session"]["en"]["n"] == 1
    assert set(report["category"]["turn"]) == {"plain", "things"}
    assert report["ablation"]["turn"]["en"].keys() == retrieval.ARMS.keys()
    assert report["speed"]["turns"] == len(TURNS)
    assert sum(done) == 3


async def test_what_was_said_later_is_not_there_yet() -> None:
    queries = [
        query("Are the beans behind the shed ripe?", "b2", corpus_end=2),
        query("Are the beans behind the shed ripe now?", "b2", corpus_end=4),
    ]
    report = await retrieval.score([conversation(queries=queries[::-1])])
    assert report["turn"]["en"]["r20"] == 0.5


async def test_a_second_run_gives_the_same_figures() -> None:
    rows = [conversation(queries=[query("shed and train", "a1", "a2"), query("step", "x1")])]
    first, second = [await retrieval.score(rows) for _ in range(2)]
    for report in (first, second):
        del report["speed"]
    assert first == second


async def test_a_prompt_is_given_ones_own_and_nothing_of_anothers() -> None:
    own = query("Where does the spare key hang, under the third step?", "x1")
    other = [{"id": "1", "session": "A", "speaker": "Lee", "time": None, "text": "量子力学很难懂"}]
    rows = [conversation(queries=[own]), conversation("physics", corpus=other)]
    report = await injection.score(rows)
    assert report["by"]["en"] == {"n": 1, "own": 1.0, "other": 0.0, "unanswerable": None}


async def test_the_database_of_the_environment_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MNEMIC_DATABASE_URL", "postgresql://nobody@localhost:1/nothing")
    report = await retrieval.score([conversation(queries=[query("boiler", "b1")])])
    assert report["turn"]["en"]["r5"] == 1.0
