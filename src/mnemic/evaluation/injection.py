"""For how many queries does ``build_context`` add something, of one's own conversation and of another's?

Own should be high, other low: the next conversation of the same set and language was had by somebody else.
Every conversation is logged and indexed whole; at most 200 queries of a set are asked, evenly taken.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.evaluation.retrieval import Replay, Step, scratch
from mnemic.parts import assemble

MOST_QUERIES = 200
_BUDGET = 800

Query = tuple[str, Mapping[str, Any], int]


async def score(
    rows: Sequence[Mapping[str, Any]], *, step: Step = lambda done: None
) -> dict[str, Any]:
    """Return ``{"kind": "injection", "by": {LANG: {"n", "own", "other", "unanswerable"}}}``.

    Shares from 0 to 1: of answerable queries about one's own conversation, of the same asked by the next
    user, of one's own that nothing said answers (None where there are none).
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-eval-") as directory:
        parts = await assemble(scratch(directory))
        try:
            replays = [Replay(parts, row) for row in rows]
            for replay in replays:
                await replay.up_to(None)
            counts: Counter[tuple[str, str]] = Counter()
            for lang, query, place in _sample(rows):
                other = _next(rows, place)
                kind = "own" if query.get("answerable", True) else "unanswerable"
                asked = [(kind, place)] + ([("other", other)] if kind == "own" and other else [])
                for name, index in asked:
                    text = await parts.search.context(
                        replays[index or 0].actor, str(query["query"]), _BUDGET
                    )
                    counts[lang, f"{name} n"] += 1
                    counts[lang, name] += bool(text)
                step(1)
        finally:
            await parts.close()
    return {"kind": "injection", "by": _shares(counts)}


def _sample(rows: Sequence[Mapping[str, Any]]) -> list[Query]:
    queries = [
        (str(query.get("lang") or row.get("lang")), query, place)
        for place, row in enumerate(rows)
        for query in row["queries"]
    ]
    apart = max(1, -(-len(queries) // MOST_QUERIES))
    return queries[::apart]


def _next(rows: Sequence[Mapping[str, Any]], place: int) -> int | None:
    """Return the place of the next conversation in the same language, None where there is no other."""
    same = [index for index, row in enumerate(rows) if row.get("lang") == rows[place].get("lang")]
    after = same[(same.index(place) + 1) % len(same)]
    return None if after == place else after


def _shares(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, float | int | None]]:
    def share(lang: str, name: str) -> float | None:
        asked = counts[lang, f"{name} n"]
        return round(counts[lang, name] / asked, 4) if asked else None

    return {
        lang: {"n": counts[lang, "own n"]}
        | {name: share(lang, name) for name in ("own", "other", "unanswerable")}
        for lang in sorted({lang for lang, _ in counts})
    }
