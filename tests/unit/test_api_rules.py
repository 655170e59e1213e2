"""Do the pure rules of the REST service hold: problems, versions, cursors, paths, values?"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import errors
from mnemic.access import problems
from mnemic.access.problems import TITLES, internal, problem_of, status_of
from mnemic.api.app import serve_from
from mnemic.api.fields import moment, number, truth
from mnemic.api.guard import Guarded, right_of
from mnemic.api.json_body import read_json, require_media
from mnemic.api.openapi import operations
from mnemic.api.paging import mark_of, unwrap, wrap
from mnemic.api.paths import decoded
from mnemic.api.preconditions import etag, expected
from mnemic.errors import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    KeyUnavailable,
    MnemicError,
    NotFound,
    PermissionDenied,
    RateLimited,
    StorageError,
    StorageUnavailable,
    Unauthenticated,
)
from mnemic.model import Actor

KINDS = [
    getattr(errors, name)
    for name in errors.__all__
    if name != "MnemicError" and issubclass(getattr(errors, name), MnemicError)
]
NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


def refusal(call: Callable[[], object]) -> str | None:
    """Return the code with which a call is refused, None for one that is not."""
    try:
        call()
    except InvalidInput as error:
        return error.code
    return None


# ---- problems


@pytest.mark.parametrize("kind", KINDS)
def test_every_class_of_errors_has_a_status(kind: type[MnemicError]) -> None:
    status = status_of(kind("some_code", "Do this."))
    assert status in TITLES
    if kind not in (StorageError,):
        assert status != 500


def test_classes_that_derive_from_others_are_told_apart() -> None:
    statuses = {
        InvalidInput: 422,
        NotFound: 404,
        Unauthenticated: 401,
        PermissionDenied: 403,
        RateLimited: 429,
        Conflict: 409,
        StorageUnavailable: 503,
        StorageError: 500,
        KeyUnavailable: 503,
    }
    for kind, status in statuses.items():
        assert status_of(kind("some_code", "Do this.")) == status


def test_what_is_wrong_inside_is_not_told_outside() -> None:
    error = ConfigurationError("bad_setting", "Set MNEMIC_DATABASE_URL to postgres://db.internal.")
    problem = problem_of(error)
    body = problem.body("r1").decode()
    assert "internal" not in body
    assert json.loads(body)["code"] == "bad_setting"
    assert json.loads(internal().body(None))["code"] == "internal_error"


def test_a_wait_is_told_in_whole_seconds() -> None:
    for wait, header in ((0.2, "1"), (5, "5"), (5.01, "6")):
        error = RateLimited("rate_limited", "Wait.", retry_after=wait)
        assert problem_of(error).headers == {"Retry-After": header}
    for odd in (float("inf"), float("nan"), "soon"):
        error = RateLimited("rate_limited", "Wait.", retry_after=odd)
        assert problem_of(error).headers == {"Retry-After": "1"}


@given(st.text(), st.text())
def test_any_text_goes_over_the_wire(detail: str, extra: str) -> None:
    body = problem_of(InvalidInput("some_code", detail, extra=extra)).body("r1")
    assert json.loads(body)["status"] == 422


def test_half_a_pair_goes_over_the_wire_as_a_question_mark() -> None:
    assert b"?" in problem_of(InvalidInput("some_code", "\ud83d")).body("r1")


def test_every_code_of_the_table_is_one_that_can_be_given() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(problems.__file__).parents[1].rglob("*.py")
        if path != Path(problems.__file__)
    )
    for code in problems.CODES:
        assert f'"{code}"' in source, code


# ---- versions


@given(st.integers(1, 2**31 - 1))
def test_a_version_matches_its_own_tag_only(version: int) -> None:
    meant = expected(etag(version))
    meant.require(version)
    with pytest.raises(Conflict):
        meant.require(version + 1)


@given(st.text(max_size=20))
def test_any_header_is_understood_or_refused(header: str) -> None:
    assert refusal(lambda: expected(header)) in (None, "invalid_if_match")


# ---- cursors


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_a_cursor_comes_back_in_its_own_list_only(cursor: str) -> None:
    mark = mark_of(Actor("kim"), "memory", {"scope": None})
    shown = wrap(cursor, mark)
    assert unwrap(shown, mark) == cursor
    for other in (
        mark_of(Actor("lee"), "memory", {"scope": None}),
        mark_of(Actor("kim", session="s"), "memory", {"scope": None}),
        mark_of(Actor("kim"), "resources", {"scope": None}),
        mark_of(Actor("kim"), "memory", {"scope": "user"}),
    ):
        with pytest.raises(InvalidInput):
            unwrap(shown, other)


@given(st.text())
def test_any_text_as_a_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        unwrap(cursor, mark_of(Actor("kim"), "memory", {}))
    assert caught.value.code == "invalid_cursor"


def test_the_last_page_has_no_cursor() -> None:
    assert wrap(None, "mark") is None
    assert unwrap(None, "mark") is None


# ---- paths


@given(NAMES, NAMES)
def test_ids_in_a_path_come_back_as_they_were(first: str, second: str) -> None:
    raw = f"/api/projects/{quote(first, safe='')}/members/{quote(second, safe='')}"
    _, _, _, one, _, two = decoded(raw.encode()).split("/")
    assert (one.replace("\x1f", "/"), two.replace("\x1f", "/")) == (first, second)


def test_a_control_character_is_no_slash() -> None:
    assert decoded(b"/a%1Fb") == "/a\x1eb"
    assert decoded(b"/a%2fb") == "/a\x1fb"
    assert decoded(b"/a%2fb?x=/") == "/a\x1fb"


# ---- values


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_may_be_spelt(value: int) -> None:
    assert number(str(value)) == value
    assert number(f" {value} ") == value


@given(st.floats(0, 1, allow_subnormal=False))
def test_a_share_may_be_spelt(value: float) -> None:
    assert number(f"{value:.12f}") == pytest.approx(value)


@pytest.mark.parametrize(
    "value", ["", " ", "5x", "0x5", "1e3", "NaN", "inf", "５", "1_0", "--1", "."]
)
def test_what_spells_no_number_stays_text(value: str) -> None:
    assert number(value) == value


@given(st.none() | st.booleans() | st.floats() | st.lists(st.integers()))
def test_what_is_no_text_stays_as_it_is(value: object) -> None:
    assert number(value) is value
    assert moment(value) is value


@pytest.mark.parametrize(
    ("value", "known"),
    [(True, True), (False, False), ("true", True), ("FALSE", False), (" true ", True)],
)
def test_a_truth_may_be_spelt(value: object, known: bool) -> None:
    assert truth(value) is known


@pytest.mark.parametrize("value", [1, 0, "yes", "", None, "truee", []])
def test_what_is_no_truth_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="true or false"):
        truth(value)


@given(st.datetimes(timezones=st.timezones()))
def test_a_time_comes_back_with_its_zone(value: datetime) -> None:
    read = moment(value.isoformat())
    assert isinstance(read, datetime)
    assert read.replace(tzinfo=None) == value.replace(tzinfo=None)
    assert read.utcoffset() == value.utcoffset()


# ---- bodies


@given(st.binary())
def test_any_bytes_are_json_or_refused(body: bytes) -> None:
    assert refusal(lambda: read_json(body)) in (None, "malformed_json")


def test_half_a_pair_and_nul_are_json() -> None:
    assert read_json(b'"\\ud83d\\u0000"') == "\ud83d\0"
    assert read_json(b"\xef\xbb\xbf{}") == {}


@pytest.mark.parametrize("given_", ["application/json", "APPLICATION/JSON ; charset=utf-8"])
def test_a_media_type_may_have_parameters(given_: str) -> None:
    assert require_media(given_, ("application/json",)) == "application/json"


# ---- the description


def test_every_operation_needs_a_credential_but_two() -> None:
    app = serve_from(_nothing)
    free = {
        path
        for path, _, operation in operations(app.openapi())
        if operation.get("security") != [{"credential": []}]
    }
    assert free == {"/healthz", "/readyz"}


def test_what_reads_needs_the_right_to_read_and_what_changes_that_to_write() -> None:
    rights: dict[str, set[str]] = {}
    for _, _, operation in operations(serve_from(_nothing).openapi()):
        if "x-mnemic-right" in operation:
            rights.setdefault(operation["x-mnemic-right"], set()).add(operation["operationId"])
    assert rights["operator"] == {"metrics"}
    assert rights["admin"] == {"forgetUser"}
    assert {"searchMemory", "searchMemoryByBody", "buildContext", "getMemory"} <= rights["read"]
    assert not any(
        name.startswith(("add", "delete", "change", "set", "grant", "revoke", "create", "append"))
        for name in rights["read"]
    )


def test_the_right_in_the_description_is_the_one_that_is_asked_for() -> None:
    app = serve_from(_nothing)
    shown = {
        operation["operationId"]: operation["x-mnemic-right"]
        for _, _, operation in operations(app.openapi())
        if "x-mnemic-right" in operation
    }
    from mnemic.api.app import _ROUTERS

    asked = {
        str(route.operation_id): right_of(route)
        for router in _ROUTERS
        for route in router.routes
        if isinstance(route, Guarded)
    }
    assert asked == shown


def test_operations_have_names_tags_and_problems() -> None:
    document = serve_from(_nothing).openapi()
    assert document["openapi"].startswith("3.1")
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for path, _, operation in operations(document):
        assert operation["tags"]
        for code, answer in operation["responses"].items():
            if int(code) >= 400:
                assert list(answer["content"]) == ["application/problem+json"], (path, code)
    assert "HTTPValidationError" not in json.dumps(document)


def _nothing() -> Any:
    raise AssertionError("the description needs no memory")
