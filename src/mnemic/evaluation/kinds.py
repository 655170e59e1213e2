"""Who scores a labelled file?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.evaluation.rows import kind_of, read_rows

Step = Callable[[int], object]


async def evaluate(
    path: Path,
    *,
    ablation: bool = False,
    injection: bool = False,
    step: Step = lambda done: None,
) -> dict[str, Any]:
    """Return the report of a file: ``set`` (its folder and name), ``kind``, and the figures of that kind.

    ``ablation`` and ``injection`` concern retrieval sets: figures of every arm, and how often a prompt is
    given something. ``step`` hears of every query done there. Raises InvalidInput: ``file_not_found``,
    ``file_unreadable``, ``line_not_json``, ``invalid_row``, ``unknown_eval_kind``.
    """
    rows = list(read_rows(path))
    kind = kind_of(rows[0]) if rows else None
    if kind == "retrieval":
        report = await _retrieval(rows, ablation, injection, step)
    elif kind is not None:
        report = await _gate(kind, rows)
    else:
        raise InvalidInput("unknown_eval_kind", f"{path} holds no rows.")
    return {"set": path.parent.name or path.stem, **report}


def has_queries(path: Path) -> bool:
    """Tell whether a file is a retrieval set, by its first row; raises as ``evaluate``."""
    row = next(read_rows(path), None)
    return row is not None and kind_of(row) == "retrieval"


def count_queries(path: Path) -> int:
    """Return how many queries a retrieval set holds; 0 for a file of another kind."""
    return sum(len(row["queries"]) for row in read_rows(path) if kind_of(row) == "retrieval")


async def _retrieval(
    rows: Sequence[dict[str, Any]], ablation: bool, injection: bool, step: Step
) -> dict[str, Any]:
    if injection:
        from mnemic.evaluation import injection as injecting

        return await injecting.score(rows, step=step)
    from mnemic.evaluation import retrieval

    return await retrieval.score(rows, ablation=ablation, step=step)


async def _gate(kind: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    # each kind loads its own part of the gate only
    if kind == "judge":
        from mnemic.evaluation import judge
        from mnemic.evaluation.similarity import pair_similarity

        pairs = [(row["first"], row["second"]) for row in rows]
        similarities = await pair_similarity(pairs)
        return judge.score(rows, lambda first, second: similarities[first, second])
    if kind == "sensitive":
        from mnemic.evaluation import sensitive

        return sensitive.score(rows)
    from mnemic.evaluation import extract

    return extract.score(rows)
