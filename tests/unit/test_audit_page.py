"""Does the page of the audit list exactly the deeds that the source records?

They are read from the syntax trees of the source, so that one which no test does counts too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import mnemic

SOURCE = Path(mnemic.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "explain" / "audit.md"
CODE = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
MADE = {"Deed": 0, "_change": 0, "self._audit.record": 2}
"""What records a deed, and which of its arguments is the action."""
PUT_TOGETHER = {
    # the pattern in the source, and what can come of it
    "{}_action": {"approve_action", "edit_action", "reject_action", "answer_action"},
    "{}_task": {"advance_task", "complete_task", "fail_task"},
    "find_by_{}": {"find_by_email", "find_by_phone"},
}


def listed() -> set[str]:
    """Codes in the first column of the list of deeds."""
    part = (
        PAGE.read_text(encoding="utf-8").split("## Which deeds are recorded")[1].split("\n## ")[0]
    )
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("|")]
    return {code for cell in rows for code in CODE.findall(cell)}


def recorded() -> set[str]:
    """Codes that the source can give an entry."""
    found: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if name in MADE and len(call.args) > MADE[name]:
                found.update(texts(call.args[MADE[name]], tree))
    return found


def texts(node: ast.expr, tree: ast.AST) -> Iterator[str]:
    """Return what texts an expression can be, where its names are given values in the same module."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
        yield from PUT_TOGETHER["".join(map(str, parts))]
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body, tree), *texts(node.orelse, tree))
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from texts(value, tree)
    elif isinstance(node, ast.Subscript):
        yield from texts(node.value, tree)
    elif isinstance(node, ast.Name):
        for given in ast.walk(tree):
            if isinstance(given, ast.Assign | ast.AnnAssign) and given.value is not None:
                targets = given.targets if isinstance(given, ast.Assign) else [given.target]
                if any(isinstance(one, ast.Name) and one.id == node.id for one in targets):
                    yield from texts(given.value, tree)


def test_every_deed_of_the_source_is_on_the_page() -> None:
    assert sorted(recorded() - listed()) == []


def test_every_deed_on_the_page_is_in_the_source() -> None:
    assert sorted(listed() - recorded()) == []


def test_the_reader_of_the_source_sees_deeds_however_they_are_written() -> None:
    assert {
        "delete_thread",
        "grant_role",
        "end_project",
        "refuse_consent",
        "erase_user",
    } <= recorded()
