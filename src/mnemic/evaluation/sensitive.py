"""How much of what must not be stored does the filter catch, and how often does it cry wolf?

Reads rows of both sets: ``label`` secret / pii / clean with a ``type`` (and typed ``spans`` for whole
sentences), or sensitive / clean with a ``category``. sensitive_types.json says which category a type
belongs to; a type that is mapped to null (dates, names, companies …) counts neither way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from mnemic.longterm.sensitive import find_sensitive

__all__ = ["is_sensitive_row", "score"]

_NEAR = re.compile(r"near (\w+):")


@dataclass
class _Tally:
    sensitive: int = 0
    caught: int = 0
    clean: int = 0
    alarms: int = 0

    def report(self) -> dict[str, float | int | None]:
        return {
            "n": self.sensitive + self.clean,
            "recall": round(self.caught / self.sensitive, 4) if self.sensitive else None,
            "false_positive_rate": round(self.alarms / self.clean, 4) if self.clean else None,
        }


def is_sensitive_row(row: Mapping[str, Any]) -> bool:
    """Tell whether a row belongs to a sensitive-information set."""
    return row.get("label") in ("secret", "pii", "clean", "sensitive") and "text" in row


def score(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return recall and false-positive rate (0 to 1, null where no row says) by category and "all".

    A sensitive row is caught by a finding of any category; any finding on a clean row is a false alarm,
    counted under "all" and under the category the row is near. "secret" sums up the rows of that label:
    passwords, keys and tokens.
    """
    tallies: dict[str, _Tally] = {"all": _Tally()}
    for row in rows:
        categories = _categories(row)
        if categories is None:
            continue
        found = bool(find_sensitive(row["text"]))
        group = {"secret"} if row["label"] == "secret" else set()
        for name in ("all", *sorted(categories | group)):
            _count(tallies.setdefault(name, _Tally()), row["label"] == "clean", found)
    return {"kind": "sensitive", "by": {name: tallies[name].report() for name in sorted(tallies)}}


def _count(tally: _Tally, clean: bool, found: bool) -> None:
    if clean:
        tally.clean += 1
        tally.alarms += found
    else:
        tally.sensitive += 1
        tally.caught += found


def _categories(row: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the categories a row counts under beside "all"; None when it does not count."""
    if "type" not in row:
        near = _NEAR.match(row.get("why") or "")
        named = row.get("category") or (near[1] if near else None)
        return frozenset({named} if named else ())
    if row["type"] == "synthetic-sentence":
        kinds = {span[2] for span in row.get("spans") or () if len(span) > 2}
        mapped = frozenset(c for kind in kinds if (c := _types()["spans"].get(kind)) is not None)
        return mapped if mapped or row["label"] == "clean" else None
    category = _types()[row.get("kind", "pii")].get(row["type"])
    return None if category is None else frozenset({category})


@lru_cache(maxsize=1)
def _types() -> dict[str, dict[str, str | None]]:
    text = files("mnemic.evaluation").joinpath("sensitive_types.json").read_text("utf-8")
    loaded: dict[str, dict[str, str | None]] = json.loads(text)
    return loaded
