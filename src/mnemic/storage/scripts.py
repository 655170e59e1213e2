"""What must a database administrator run once, where nobody else may?"""

from __future__ import annotations

from importlib.resources import files


def roles_script() -> str:
    """Return the SQL that makes both logins, the database and the extension."""
    return files("mnemic.storage").joinpath("roles.sql").read_text(encoding="utf-8")
