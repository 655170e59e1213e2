"""Does the page of reason codes list exactly the codes that the source can give?

The codes are read from the syntax trees of the source, so that one which no test provokes counts too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import mnemic
from mnemic import errors
from mnemic.longterm.sensitive import CATEGORIES

SOURCE = Path(mnemic.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "reference" / "reason-codes.md"
CODE = re.compile(
    r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+|exact|edited|confirmed|denied|renamed|ended|corrected|finished|translated"
)
RAISED = {*errors.__all__, "_refusal"}
ENDPOINTS = {
    f"{which}_{how}" for which, how in product(("chat", "embedding"), ("timeout", "unreachable"))
}
MADE_UP = {
    # codes that are put together: the pattern in the source, and what can come of it
    "sensitive_{}": {f"sensitive_{category}" for category in CATEGORIES},
    "{}_{}": ENDPOINTS,
    "{}_not_text": {"title_not_text", "uri_not_text"},
    "{}_too_long": {"title_too_long", "uri_too_long"},
    "unknown_{}": set(),  # the third argument of one_of
    "{}_out_of_range": set(),  # the name given to whole and share
}


def listed() -> set[str]:
    """Codes in the first column of the page's tables."""
    rows = [
        line.split("|")[1]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    return {code for cell in rows for code in re.findall(r"`([a-z0-9_]+)`", cell)}


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_every_code_of_the_source_is_on_the_page() -> None:
    assert sorted(given() - listed()) == []


def test_every_code_on_the_page_is_in_the_source() -> None:
    assert sorted(listed() - given()) == []


def test_the_reader_of_the_source_sees_errors_verdicts_and_judgements() -> None:
    found = given()
    assert {
        "k_out_of_range",
        "text_too_short",
        "exact",
        "item_not_pending",
        "data_dir_read_only",
    } <= found
    assert {"unknown_scope", "chat_timeout", "sensitive_token", "line_not_json", "denied"} <= found
    assert len(found) > 100


def test_codes_are_put_together_in_known_ways_only() -> None:
    patterns = {
        _pattern(node)
        for _, tree in trees()
        for node in _places(tree)
        if isinstance(node, ast.JoinedStr)
    }
    assert patterns <= MADE_UP.keys()


def given() -> set[str]:
    """Every code that the source can give."""
    found = {code for codes in MADE_UP.values() for code in codes}
    for path, tree in trees():
        named = _constants(tree)
        for node in _places(tree):
            named_text = named.get(node.id) if isinstance(node, ast.Name) else None
            found |= set(_codes(node if named_text is None else named_text))
        if "judge" in path.parts:
            found |= set(_judgements(tree))
    return found


def _places(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that are a code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _in_call(node)
        elif isinstance(node, ast.Assign):
            yield from _assigned(node)
        elif isinstance(node, ast.FunctionDef) and node.name == "_pending":
            yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "reason")


def _in_call(node: ast.Call) -> Iterator[ast.expr]:
    name, arguments = _name(node.func), node.args
    if name in RAISED or name == "_failure":
        yield from arguments[:1]
    elif name in ("_require", "Problem"):
        yield from arguments[1:2]
    elif name == "one_of":
        yield from (
            ast.Constant(f"unknown_{text.value}")
            for text in arguments[2:3]
            if isinstance(text, ast.Constant)
        )
    elif name in ("whole", "share") and len(arguments) > 1:
        if isinstance(arguments[-1], ast.Constant):
            yield ast.Constant(f"{arguments[-1].value}_out_of_range")
    elif name == "written":
        yield from arguments[2:3]
    elif name in ("Decision", "Verdict"):
        yield from arguments[2:3]
        yield from (word.value for word in node.keywords if word.arg in ("reason", "why"))
    elif name == "Judgement":
        yield from arguments[2:3]
    elif name == "_duplicate":
        yield from arguments[-1:]


def _assigned(node: ast.Assign) -> Iterator[ast.expr]:
    """``code = "..."``, ``code, text = "...", "..."`` and ``reason = f"..."``."""
    for target in node.targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for name, value in zip(names, values, strict=False):
            if isinstance(name, ast.Name) and name.id in ("code", "reason"):
                yield value


def _constants(tree: ast.AST) -> dict[str, ast.expr]:
    """Texts that a module gives a name."""
    assert isinstance(tree, ast.Module)
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _judgements(tree: ast.AST) -> Iterator[str]:
    """Reasons of "same" and "newer"; those of "different" stand on no verdict."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in ("same", "newer"):
            yield from _codes(node.args[0])


def _codes(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if CODE.fullmatch(node.value):
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*_codes(node.body), *_codes(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from (code for value in node.values for code in _codes(value))


def _pattern(node: ast.JoinedStr) -> str:
    return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
