"""How well does an extraction find what should be remembered, and keep quiet about the rest?

Rows are labelled conversations: ``{"lang", "turns": [{"role", "content"}], "expected": [{"memory_type",
"must_contain": [keywords], "scope"}]}``. A keyword may list alternatives between bars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.longterm.extract import extract_rules
from mnemic.model import Candidate, Turn

Extract = Callable[[Sequence[Turn]], Sequence[Candidate]]


@dataclass(slots=True)
class _Tally:
    rows: int = 0
    produced: int = 0
    useful: int = 0
    expected: int = 0
    found: int = 0
    scope: int = 0
    kind: int = 0
    quiet: int = 0
    to_be_quiet: int = 0

    def shares(self) -> dict[str, float | int | None]:
        return {
            "n": self.rows,
            "precision": _share(self.useful, self.produced),
            "recall": _share(self.found, self.expected),
            "silence": _share(self.quiet, self.to_be_quiet),
            "scope": _share(self.scope, self.found),
            "memory_type": _share(self.kind, self.found),
        }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def holds(content: str, entry: Mapping[str, Any]) -> bool:
    """Tell whether a content has one alternative of every keyword, letter case ignored."""
    folded = content.casefold()
    return all(
        any(one.casefold() in folded for one in word.split("|")) for word in entry["must_contain"]
    )


def score(rows: Iterable[Mapping[str, Any]], extract: Extract = extract_rules) -> dict[str, Any]:
    """Return ``{"kind": "extract", "by": {LANG | "all": {...}}}``; shares from 0 to 1, None over nothing.

    recall: expected entries that some memory holds; precision: memories that hold an entry which no
    earlier one of the row held; silence: rows without expected entries that produced nothing; scope and
    memory_type: shares of the entries found for which a memory that holds them has the right one.
    """
    tallies: dict[str, _Tally] = {}
    for row in rows:
        turns = [Turn(turn["role"], turn["content"]) for turn in row["turns"]]
        produced = extract(turns)
        for key in (str(row.get("lang") or "unknown"), "all"):
            _count(tallies.setdefault(key, _Tally()), produced, row["expected"])
    return {"kind": "extract", "by": {key: tally.shares() for key, tally in tallies.items()}}


def _count(
    tally: _Tally, produced: Sequence[Candidate], expected: Sequence[Mapping[str, Any]]
) -> None:
    tally.rows += 1
    tally.produced += len(produced)
    tally.expected += len(expected)
    if not expected:
        tally.to_be_quiet += 1
        tally.quiet += not produced
    open_entries = set(range(len(expected)))
    for memory in produced:
        held = {index for index in open_entries if holds(memory.content, expected[index])}
        tally.useful += bool(held)
        open_entries -= held
    for entry in expected:
        holding = [memory for memory in produced if holds(memory.content, entry)]
        tally.found += bool(holding)
        tally.scope += any(memory.scope == entry["scope"] for memory in holding)
        tally.kind += any(memory.memory_type == entry["memory_type"] for memory in holding)
