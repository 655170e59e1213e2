"""What does the bundled conversation say, once its placeholders hold made-up secrets?

The file holds no secret, not even a false one: values of the right shape are made anew at each run.
"""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

_ALPHABET = string.ascii_letters + string.digits
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question to the sample's memories; ``expect`` is empty where nothing should come back."""

    query: str
    expect: tuple[str, ...]
    note: str


def questions() -> list[DemoQuestion]:
    """Return the bundled questions."""
    lines = (
        files("mnemic.demo").joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()
    )
    rows = [json.loads(line) for line in lines if line.strip()]
    return [DemoQuestion(row["query"], tuple(row["expect"]), row["note"]) for row in rows]


@contextmanager
def sample_file() -> Iterator[Path]:
    """Yield the sample as a file that lives for the block, its placeholders filled."""
    text = files("mnemic.demo").joinpath("sample.jsonl").read_text(encoding="utf-8")
    for placeholder, value in _made_up().items():
        text = text.replace(placeholder, value)
    with TemporaryDirectory(prefix="mnemic-demo-") as directory:
        path = Path(directory) / "sample.jsonl"
        path.write_text(text, encoding="utf-8")
        yield path


def _made_up() -> dict[str, str]:
    return {
        "{secret:github_token}": "gh"
        + "p_"
        + "".join(secrets.choice(_ALPHABET) for _ in range(36)),
        "{secret:password}": "".join(secrets.choice(_ALPHABET) for _ in range(8)) + "#7k",
        "{id:national}": _national_id(),
        "{card}": _card(),
    }


def _national_id() -> str:
    """A Chinese id number of somebody born in 1905, with a right check character (GB 11643)."""
    body = "110105" + "1905" + "0614" + f"{secrets.randbelow(1000):03d}"
    total = sum(int(digit) * weight for digit, weight in zip(body, _WEIGHTS, strict=True))
    return body + "10X98765432"[total % 11]


def _card() -> str:
    """A card number that passes the Luhn check and belongs to no bank we know."""
    body = "4" + "0" * 5 + f"{secrets.randbelow(10**9):09d}"
    doubled = [int(d) * (2 if i % 2 == 0 else 1) for i, d in enumerate(body)]
    total = sum(n - 9 if n > 9 else n for n in doubled)
    return body + str(-total % 10)
