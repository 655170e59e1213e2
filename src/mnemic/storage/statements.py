"""Which named SQL statements exist?

``storage/sql/<file>.sql`` holds statements, each under a line ``-- name: <name>``. They are read once and
bound with ``%(name)s`` parameters; no SQL is put together from strings anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: ([a-z_]+)\s*$", re.MULTILINE)


@cache
def statements(file: str) -> Mapping[str, LiteralString]:
    """Return the statements of one file by name; an unknown file or a doubled name is a programming error."""
    text = files("mnemic.storage").joinpath(f"sql/{file}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)
    names, bodies = parts[1::2], parts[2::2]
    if len(set(names)) != len(names):
        raise LookupError(f"sql/{file}.sql names a statement twice")
    return dict(zip(names, (cast("LiteralString", body.strip()) for body in bodies), strict=True))
