"""What kind of labelled file is this, and who scores it?"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInput


async def evaluate(path: Path) -> dict[str, Any]:
    """Return the report of a file: ``set`` (its folder and name), ``kind``, ``by``.

    Raises InvalidInput: ``file_not_found``, ``line_not_json``, ``unknown_eval_kind``.
    """
    rows = list(read_rows(path))
    kind = kind_of(rows[0]) if rows else None
    # each kind loads its own part of the gate only
    if kind == "judge":
        from mnemic.evaluation import judge
        from mnemic.evaluation.similarity import pair_similarity

        pairs = [(row["first"], row["second"]) for row in rows]
        similarities = await pair_similarity(pairs)
        report = judge.score(rows, lambda first, second: similarities[first, second])
    elif kind == "sensitive":
        from mnemic.evaluation import sensitive

        report = sensitive.score(rows)
    elif kind == "extract":
        from mnemic.evaluation import extract

        report = extract.score(rows)
    else:
        raise InvalidInput("unknown_eval_kind", f"{path} holds no kind of rows that can be scored.")
    return {"set": path.parent.name or path.stem, **report}


def kind_of(row: Mapping[str, Any]) -> str | None:
    """Return the kind of a labelled row by its fields, None for an unknown one."""
    if {"first", "second", "label"} <= row.keys():
        return "judge"
    if {"text", "label"} <= row.keys():
        return "sensitive"
    if {"turns", "expected"} <= row.keys():
        return "extract"
    return None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines, gzipped or not."""
    if not path.is_file():
        raise InvalidInput("file_not_found", f"There is no file {path}.")
    with path.open("rb") as probe:
        packed = probe.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except ValueError:
                raise InvalidInput(
                    "line_not_json", f"Line {number} of {path} is not JSON."
                ) from None
