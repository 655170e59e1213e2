"""Do the figures of a report hold what was agreed: least this, most that?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from mnemic.errors import InvalidInput

Floors = Mapping[str, Mapping[str, tuple[Literal["least", "most"], float]]]
"""By set, then by path of the figure (``by/all/accuracy``): which way, and the limit."""

_FORM = dict[
    str, dict[str, tuple[Literal["least", "most"], Annotated[float, Field(allow_inf_nan=False)]]]
]


def read_floors(path: Path) -> Floors:
    """Return the floors of a JSON file.

    Raises InvalidInput: ``file_not_found``, ``file_unreadable``, ``floors_invalid``.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput("file_not_found", f"There is no file {path}.") from None
    except OSError as error:
        raise InvalidInput(
            "file_unreadable", f"{path} cannot be read: {error.strerror}."
        ) from error
    try:
        floors: Floors = TypeAdapter(_FORM).validate_json(text)
    except ValidationError:
        raise InvalidInput(
            "floors_invalid",
            f'{path} must be JSON such as {{"SET": {{"by/all/accuracy": ["least", 0.9]}}}}.',
        ) from None
    return floors


def misses(reports: Iterable[Mapping[str, Any]], floors: Floors) -> list[str]:
    """Return a sentence for each figure that does not hold its floor; one that has no value does not.

    Raises InvalidInput (``floors_invalid``) for a floor of something that the report does not have.
    """
    found = []
    for report in reports:
        for path, (word, limit) in floors.get(report["set"], {}).items():
            value = _figure(report, path)
            if value is None:
                found.append(f"{report['set']}: {path} has no value, {word} is {limit}")
            elif (value < limit) if word == "least" else (value > limit):
                found.append(f"{report['set']}: {path} is {value:.3f}, {word} is {limit}")
    return found


def _figure(report: Mapping[str, Any], path: str) -> float | None:
    value: Any = report
    for part in path.split("/"):
        value = value.get(part, report) if isinstance(value, Mapping) else report
    if value is not None and not isinstance(value, int | float):
        raise InvalidInput(
            "floors_invalid",
            f"The report of {report['set']} has no figure {path}: correct the floors.",
        )
    return value
