"""How much of the evidence does a search over conversations find?

The real pipeline on a scratch database: every conversation is a user of its own; its turns are logged and
indexed session by session, and each query is asked when what precedes it has been said (``corpus_end``).
Entries without a session stand alone. Rows have the format of the retrieval sets: ``{"conv_id", "lang",
"corpus": [{"id", "text", "speaker", "session", "time"}], "queries": [{"query", "evidence_ids", ...}]}``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from mnemic.evaluation.metrics import DEEPEST, figures, mean, mean_curve, recall_curve
from mnemic.model import Actor, ResourceHit, Role, Turn
from mnemic.parts import Parts, assemble
from mnemic.retrieval.dates import read_day
from mnemic.retrieval.surroundings import DEFAULT, Weights
from mnemic.settings import Settings

ARMS: Mapping[str, Weights] = {
    "all": DEFAULT,
    "words alone": Weights(words=1.0, vectors=0.0),
    "vectors alone": Weights(words=0.0, vectors=1.0),
    "without surroundings": Weights(window=0.0, near=(0.0, 0.0), session=0.0),
    "without speaker": Weights(speaker=0.0),
    "without side and kind": Weights(side=0.0, asking=0.0, stands=0.0),
    "without dates": Weights(date=0.0),
}
"""The whole ranking, and what an ablation leaves of it."""
_ASSISTANTS = frozenset(("assistant", "ai", "bot"))
Step = Callable[[int], object]


@dataclass(slots=True)
class Tally:
    """What was found, by arm, level and group of queries."""

    figures: dict[tuple[str, str, str], list[dict[str, float]]] = field(default_factory=dict)
    curves: dict[tuple[str, str], list[list[float]]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    indexed: int = 0
    indexing: float = 0.0

    def count(
        self,
        arm: str,
        level: str,
        groups: Sequence[str],
        ranked: Sequence[str],
        gold: Sequence[str],
    ) -> None:
        """Add one ranking."""
        row = figures(ranked, gold)
        for group in groups:
            self.figures.setdefault((arm, level, group), []).append(row)
        if arm == "all":
            self.curves.setdefault((level, groups[0]), []).append(recall_curve(ranked, gold))


class Replay:
    """One conversation, said again up to a given turn."""

    def __init__(self, parts: Parts, row: Mapping[str, Any]) -> None:
        self._parts = parts
        self._corpus: Sequence[Mapping[str, Any]] = row["corpus"]
        self._said = 0
        self.actor = Actor(str(row["conv_id"]))
        self.ids: dict[tuple[str, int], str] = {}
        self.sessions: dict[str, str | None] = {
            str(entry["id"]): entry.get("session") for entry in self._corpus
        }

    async def up_to(self, end: int | None) -> int:
        """Log and index what was said before turn ``end`` (None: all); return the number of new turns."""
        last = len(self._corpus) if end is None else min(end, len(self._corpus))
        new = range(self._said, last)
        for session, places in groupby(new, key=self._session):
            entries = [self._corpus[place] for place in places]
            actor = Actor(self.actor.user, session=session)
            seqs = await self._parts.log.append(actor, [_turn(entry) for entry in entries])
            for seq, entry in zip(seqs, entries, strict=True):
                self.ids[session, seq] = str(entry["id"])
            await self._parts.resources.index(actor)
        self._said = max(self._said, last)
        return len(new)

    def _session(self, place: int) -> str:
        name = self._corpus[place].get("session")
        return f"entry {place}" if name is None else str(name)

    def ranked(self, hits: Sequence[object]) -> list[str]:
        """Return the corpus ids of hits."""
        return [
            self.ids[hit.session, hit.seq]
            for hit in hits
            if isinstance(hit, ResourceHit) and hit.session is not None
        ]


async def score(
    rows: Sequence[Mapping[str, Any]],
    *,
    ablation: bool = False,
    step: Step = lambda done: None,
) -> dict[str, Any]:
    """Return ``{"kind": "retrieval", "turn": {LANG: {...}}, "session": ..., "category": ..., "speed": ...}``.

    Shares are from 0 to 1, over queries that can be answered and have evidence at that level. ``step`` hears
    of every query done. With ``ablation`` the answer has the turn figures of every arm as well.
    """
    tally = Tally()
    arms = ARMS if ablation else {"all": DEFAULT}
    with tempfile.TemporaryDirectory(prefix="mnemic-eval-") as directory:
        parts = await assemble(scratch(directory))
        try:
            for row in rows:
                await _conversation(parts, row, tally, arms, step)
        finally:
            await parts.close()
    return _report(tally, arms)


def scratch(directory: str) -> Settings:
    """Return settings of a database that is thrown away."""
    home = Path(directory)
    read = Settings.read(data_dir=home / "data", key_file=home / "scratch.key")
    # never the database that the environment names
    return read.model_copy(
        update={"database_url": None, "migration_url": None, "db_schema": "mnemic"}
    )


async def _conversation(
    parts: Parts,
    row: Mapping[str, Any],
    tally: Tally,
    arms: Mapping[str, Weights],
    step: Step,
) -> None:
    replay = Replay(parts, row)
    for query in in_order(row["queries"]):
        started = time.perf_counter()
        tally.indexed += await replay.up_to(query.get("corpus_end"))
        tally.indexing += time.perf_counter() - started
        if query.get("answerable", True):
            for arm, weights in arms.items():
                await _ask(parts, replay, query, str(row.get("lang")), tally, arm, weights)
        step(1)


async def _ask(
    parts: Parts,
    replay: Replay,
    query: Mapping[str, Any],
    lang: str,
    tally: Tally,
    arm: str,
    weights: Weights,
) -> None:
    started = time.perf_counter()
    hits = await _hits(parts, replay.actor, str(query["query"]), asked_at(query), arm, weights)
    if arm == "all":
        tally.seconds.append(time.perf_counter() - started)
    ranked = replay.ranked(hits)
    groups = (str(query.get("lang") or lang), f"category {query.get('category')}")
    if query.get("evidence_ids"):
        tally.count(arm, "turn", groups, ranked, query["evidence_ids"])
    if query.get("evidence_sessions"):
        sessions = [str(replay.sessions[one]) for one in ranked]
        tally.count(arm, "session", groups, sessions, query["evidence_sessions"])


async def _hits(
    parts: Parts, actor: Actor, text: str, as_of: datetime | None, arm: str, weights: Weights
) -> Sequence[object]:
    if arm == "all":
        return await parts.search.run(actor, text, DEEPEST, include=("resource",), as_of=as_of)
    scopes = (actor.user_scope,)
    found = await parts.search.turns.find(
        actor, text, DEEPEST, scopes, as_of=as_of, weights=weights
    )
    return found.hits


def in_order(queries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the queries in the order in which they were asked; those without a bound come last."""
    yield from sorted(queries, key=lambda query: query.get("corpus_end") or float("inf"))


def asked_at(query: Mapping[str, Any]) -> datetime | None:
    """Return the end of the day on which a query was asked, where its row tells."""
    day = read_day(query.get("time"))
    return _at(day + timedelta(1)) if day else None


def _turn(entry: Mapping[str, Any]) -> Turn:
    speaker = str(entry["speaker"]) if entry.get("speaker") else None
    role: Role = "assistant" if (speaker or "").casefold() in _ASSISTANTS else "user"
    day = read_day(entry.get("time"))
    return Turn(role, str(entry["text"]), _at(day) if day else None, speaker=speaker)


def _at(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _report(tally: Tally, arms: Mapping[str, Weights]) -> dict[str, Any]:
    report: dict[str, Any] = {"kind": "retrieval", "turn": {}, "session": {}, "category": {}}
    for (arm, level, group), rows in tally.figures.items():
        found = mean(rows)
        if group.startswith("category "):
            if arm == "all":
                by_category = report["category"].setdefault(level, {})
                by_category[group.removeprefix("category ")] = found
            continue
        if arm == "all":
            report[level][group] = found
        if len(arms) > 1:
            by_arm = report.setdefault("ablation", {}).setdefault(level, {}).setdefault(group, {})
            by_arm[arm] = found
    report["curves"] = {
        f"{level} {group}": mean_curve(curves) for (level, group), curves in tally.curves.items()
    }
    report["speed"] = _speed(tally)
    return report


def _speed(tally: Tally) -> dict[str, float | int]:
    seconds = sorted(tally.seconds) or [0.0]
    return {
        "queries": len(tally.seconds),
        "ms_median": round(1000 * seconds[len(seconds) // 2], 1),
        "ms_p95": round(1000 * seconds[int(0.95 * (len(seconds) - 1))], 1),
        "turns": tally.indexed,
        "turns_per_second": round(tally.indexed / tally.indexing, 1) if tally.indexing else 0.0,
    }
