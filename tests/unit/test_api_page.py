"""Does the page about REST list the routes and statuses that the service has?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.access.problems import CODES, TITLES
from mnemic.api.app import serve_from
from mnemic.api.doors import Limits
from mnemic.api.openapi import operations
from mnemic.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "rest.md"
SERVE = DOCS / "howto" / "serve.md"
_NAME = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*`([^`]+)`\*\*")
OF_OTHERS = {"addMemory", "role", "content"}
"""What stands in a cell of fields and is none of its own."""
SAYS_SOMETHING = {
    "changeMemory",
    "changeProfile",
    "putProfile",
    "changeProjectProfile",
    "putProjectProfile",
}
"""A change of nothing is no change."""


def test_the_table_of_routes_is_that_of_the_description() -> None:
    described = {
        (
            method.upper(),
            path,
            operation["operationId"],
            operation.get("x-mnemic-right", "-"),
            ", ".join(sorted(code for code in operation["responses"] if code < "300")),
        )
        for path, method, operation in operations(serve_from(_nothing).openapi())
    }
    written = {
        (method, path.strip("`"), name.strip("`"), right, done)
        for method, path, name, right, done, _ in _table("## Routes")
    }
    assert written == described


def test_the_table_of_bodies_is_that_of_the_description() -> None:
    document = serve_from(_nothing).openapi()
    described = dict(_bodies(document))
    written = set()
    for named, fields, example in _table("### Bodies"):
        sent = json.loads(example.strip("`") or "{}")
        for name in _NAME.findall(named):
            known, needed = described[name]
            assert set(_BOLD.findall(fields)) == needed, name
            assert known <= set(_NAME.findall(fields)) <= known | OF_OTHERS, name
            assert needed <= set(sent) <= known, name
            written.add(name)
    assert written == described.keys()


def test_a_body_may_be_left_out_where_every_field_has_a_default() -> None:
    document = serve_from(_nothing).openapi()
    described = dict(_bodies(document))
    for _, _, operation in operations(document):
        name = operation["operationId"]
        if name in described:
            needed = bool(described[name][1]) or name in SAYS_SOMETHING
            assert operation["requestBody"].get("required", False) is needed, name


def _bodies(document: dict[str, Any]) -> Iterator[tuple[str, tuple[set[str], set[str]]]]:
    """Yield each operation with a JSON body: its fields, and those that must be there."""
    for _, _, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema is None:
            continue
        options = schema.get("anyOf", [schema])
        (name,) = (one["$ref"].rpartition("/")[2] for one in options if "$ref" in one)
        body = document["components"]["schemas"][name]
        fields = set(body.get("properties", {})), set(body.get("required", ()))
        yield operation["operationId"], fields


def test_every_status_that_an_operation_can_answer_is_explained() -> None:
    rows = {int(status): about for status, about in _table("## Answers")}
    answered = {
        int(code)
        for _, _, operation in operations(serve_from(_nothing).openapi())
        for code in operation["responses"]
        if code >= "400"
    }
    assert answered | {405} == rows.keys() == TITLES.keys()
    for code, status in CODES.items():
        assert code in _NAME.findall(rows[status]), code


def test_the_limits_are_those_of_the_settings() -> None:
    limits = dict(_table("## Requests", 1))
    assert f"{Settings.model_fields['max_body_bytes'].default:,}" in limits["a JSON body"]
    assert f"{Settings.model_fields['request_timeout'].default:g} s" in limits["another request"]
    given = Limits()
    for told in (limits["a document"], SERVE.read_text(encoding="utf-8")):
        assert f"{given.document // 1024**2} MB" in told
        assert f"within {given.document_seconds:g} s" in told
        assert f"1 s more for each {given.document_pace:,} bytes" in told


def _table(heading: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table under a heading, without its head."""
    part = PAGE.read_text(encoding="utf-8").partition(f"{heading}\n")[2].partition("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", part + "\n", re.MULTILINE)
    return [
        [cell.strip() for cell in row.strip("|").split(" | ")]
        for row in tables[number].splitlines()[2:]
    ]


def _nothing() -> Any:
    raise AssertionError("the description needs no memory")
