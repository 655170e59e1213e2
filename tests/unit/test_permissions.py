"""Does the matrix say for every role, action, visibility and author what the design says?"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from mnemic.errors import PermissionDenied
from mnemic.model import PROJECT_ROLES, VISIBILITIES
from mnemic.permissions import ACTIONS, may, require

# design section 1, written out: which (role, action) are allowed, for what a member wrote themselves
OWN = {
    "owner": {"read", "create", "edit", "delete"},
    "admin": {"read", "create", "edit", "delete"},
    "editor": {"read", "create", "edit", "delete"},
    "viewer": {"read"},
}
# ... and for what others wrote, where it is not owner_only
OTHERS = {
    "owner": {"read", "edit", "delete"},
    "admin": {"read", "edit", "delete"},
    "editor": {"read"},
    "viewer": {"read"},
}
CELLS = list(product((*PROJECT_ROLES, None), ACTIONS, VISIBILITIES, (True, False)))
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "permissions.md"


def expected(role: str | None, action: str, visibility: str, own: bool) -> bool:
    if role is None:
        return False
    if own:
        return action in OWN[role]
    return visibility != "owner_only" and action in OTHERS[role]


@pytest.mark.parametrize(("role", "action", "visibility", "own"), CELLS)
def test_every_cell_of_the_matrix(role: str, action: str, visibility: str, own: bool) -> None:
    allowed = expected(role, action, visibility, own)
    assert may(role, action, visibility, own=own) is allowed  # type: ignore[arg-type]
    if allowed:
        require(role, action, visibility, own=own)  # type: ignore[arg-type]
        return
    with pytest.raises(PermissionDenied) as denied:
        require(role, action, visibility, own=own)  # type: ignore[arg-type]
    assert denied.value.code == ("not_a_member" if role is None else "role_too_low")


def test_the_page_shows_this_matrix() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|\n ").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    shown = {(row[0].strip("`"), row[1].strip("`")): row[2:] for row in rows}
    assert set(shown) == set(product(PROJECT_ROLES, ACTIONS))
    for (role, action), cells in shown.items():
        wanted = [
            "yes" if may(role, action, visibility, own=own) else "no"  # type: ignore[arg-type]
            for own in (True, False)
            for visibility in ("public", "members", "owner_only")
        ]
        assert cells == wanted, (role, action)
