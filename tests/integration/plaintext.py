"""Does one of these texts stand in those bytes, in any form that a database or a program would write?"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import numpy as np

_WORD = re.compile(r"[A-Za-z]{6,}")
_HAN = re.compile(r"[\u4e00-\u9fff]{4,}")
_SHORTEST_BASE64 = 8


def fragments(text: str) -> set[str]:
    """Return a text, its words of six letters or more and its runs of four Chinese characters."""
    han = {run[i : i + 4] for run in _HAN.findall(text) for i in range(len(run) - 3)}
    return {text, *_WORD.findall(text), *han}


def encodings(text: str) -> set[bytes]:
    """Return a text as UTF-8, UTF-16, hexadecimal, base64 in three alignments, escaped and quoted."""
    plain = text.encode()
    wide = [text.encode("utf-16-le"), text.encode("utf-16-be")]
    found = {plain, *wide, json.dumps(text)[1:-1].encode(), quote(text).encode()}
    for data in (plain, *wide):
        found |= {data.hex().encode(), data.hex().upper().encode()}
    found.add("".join(f"\\{byte:03o}" for byte in plain).encode())
    for shift in range(3):
        # without the characters that also hold bits of what stands before and after
        body = base64.b64encode(b"\0" * shift + plain)[(0, 2, 3)[shift] :]
        whole = body[: (shift + len(plain)) // 3 * 4 - (0, 2, 3)[shift]]
        if len(whole) >= _SHORTEST_BASE64:
            found |= {whole, whole.replace(b"+", b"-").replace(b"/", b"_")}
    return found


class Finder:
    """Looks for many texts at once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_start: dict[bytes, list[tuple[bytes, str]]] = {}
        self._first = np.zeros(65536, bool)
        self._second = np.zeros(65536, bool)
        for text in texts:
            for pattern in encodings(text):
                self._by_start.setdefault(pattern[:4], []).append((pattern, text))
                self._first[int.from_bytes(pattern[:2], "little")] = True
                self._second[int.from_bytes(pattern[2:4], "little")] = True

    def in_bytes(self, data: bytes) -> set[str]:
        """Return the texts that stand in ``data``."""
        if len(data) < 4:
            return set()
        single = np.frombuffer(data, np.uint8).astype(np.uint16)
        pairs = single[:-1] | single[1:] << 8
        possible = np.flatnonzero(self._first[pairs[:-2]] & self._second[pairs[2:]])
        return {
            text
            for place in possible.tolist()
            for pattern, text in self._by_start.get(data[place : place + 4], ())
            if data.startswith(pattern, place)
        }

    def below(self, directory: Path) -> set[str]:
        """Return the texts that stand in any file below a directory, its name included."""
        found: set[str] = set()
        for path in directory.rglob("*"):
            found |= self.in_bytes(str(path.relative_to(directory)).encode())
            if path.is_file():
                found |= self.in_bytes(path.read_bytes())
        return found
