"""How well does the judge tell same, newer and different apart on a labelled set?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from mnemic.errors import InvalidInput
from mnemic.longterm.judge import Label, judge

__all__ = ["score"]

_LABELS: tuple[str, ...] = get_args(Label)


def score(
    rows: Iterable[Mapping[str, Any]], similarity: Callable[[str, str], float] | None = None
) -> dict[str, Any]:
    """Judge every row and return the figures by language, over all, and by kind.

    A row has ``first``, ``second``, ``label`` and optionally ``lang`` and ``why`` ("kind: note").
    ``similarity`` gives the calibrated similarity of two texts in [0, 1]. The answer is ``{"kind":
    "judge", "by": {LANG | "all": {"n", "accuracy", "lost", "wrongly_retired", "confusion"}}, "kinds":
    {KIND: {"n", "accuracy"}}}``. ``lost`` is the share of newer and different pairs judged same,
    ``wrongly_retired`` the share of different pairs judged newer, ``confusion`` counts ``[label][answer]``.
    All shares are from 0 to 1, 0.0 where there is nothing to share. Raises InvalidInput
    (``invalid_row``) for a row without these fields or with another label.
    """
    by: dict[str, Counter[tuple[str, str]]] = {}
    kinds: dict[str, Counter[bool]] = {}
    for number, row in enumerate(rows, start=1):
        first, second, label = _fields(row, number)
        alike = None if similarity is None else similarity(first, second)
        answer = judge(first, second, alike).label
        for group in (str(row.get("lang") or "unknown"), "all"):
            by.setdefault(group, Counter())[label, answer] += 1
        kind = str(row.get("why") or "unknown").split(":")[0].strip()
        kinds.setdefault(kind, Counter())[label == answer] += 1
    return {
        "kind": "judge",
        "by": {group: _figures(counts) for group, counts in sorted(by.items())},
        "kinds": {
            kind: {"n": counts.total(), "accuracy": _share(counts[True], counts.total())}
            for kind, counts in sorted(kinds.items())
        },
    }


def _fields(row: Mapping[str, Any], number: int) -> tuple[str, str, str]:
    first, second, label = row.get("first"), row.get("second"), row.get("label")
    if not isinstance(first, str) or not isinstance(second, str) or label not in _LABELS:
        message = (
            "Give every row the texts first and second and the label same, newer or different."
        )
        raise InvalidInput("invalid_row", message, row=number)
    return first, second, str(label)


def _figures(counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    totals = {label: sum(counts[label, answer] for answer in _LABELS) for label in _LABELS}
    lost = counts["newer", "same"] + counts["different", "same"]
    return {
        "n": counts.total(),
        "accuracy": _share(sum(counts[label, label] for label in _LABELS), counts.total()),
        "lost": _share(lost, totals["newer"] + totals["different"]),
        "wrongly_retired": _share(counts["different", "newer"], totals["different"]),
        "confusion": {one: {two: counts[one, two] for two in _LABELS} for one in _LABELS},
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
