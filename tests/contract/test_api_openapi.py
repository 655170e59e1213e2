"""Does the service keep what its OpenAPI promises? schemathesis asks it whatever the description allows, and
what it does not.

The service is a real one on the embedded database, behind a port of this process.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from api_world import NamedKeys, Served
from conftest import Server
from mnemic.access.credentials import Authenticator
from mnemic.api.app import serve_from

_EACH = examples(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
# what the description allows can still be refused: an unknown id, times in the wrong order, an old version
_NOT_PROMISED = [positive_data_acceptance]


@pytest.fixture(scope="module")
def served(server: Server) -> Iterator[Served]:
    """The service, in a schema of its own."""
    with Served(
        server.settings(f"t_{uuid4().hex[:12]}"), Authenticator(NamedKeys(only="mk_"))
    ) as running:
        yield running


def _nothing() -> Any:
    raise AssertionError("the description needs no memory")


_SCHEMA = schemathesis.openapi.from_dict(serve_from(_nothing).openapi())
_OPERATIONS = {
    operation.definition.raw["operationId"]: operation
    for operation in (found.ok() for found in _SCHEMA.get_all_operations())
}
_SHELVES = itertools.count(1)
_OF_ITEMS = [name for name, found in _OPERATIONS.items() if "{item_id}" in found.path]
_WITHOUT_INPUT = {"health", "ready"}
"""Operations that take nothing which could be wrong."""
_MODES = pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@_MODES
@pytest.mark.parametrize("name", _OPERATIONS)
def test_whatever_is_asked_the_answer_is_one_that_is_described(
    name: str, mode: GenerationMode, served: Served
) -> None:
    @given(case=_OPERATIONS[name].as_strategy(generation_mode=mode))
    @_EACH
    def ask(case: schemathesis.Case) -> None:
        if mode is GenerationMode.POSITIVE:
            case.headers.pop("Mnemic-User", None)  # a user's key may name nobody else
        _validate(case, served, name)

    _run(ask, nothing_to_break=mode is GenerationMode.NEGATIVE and name in _WITHOUT_INPUT)


@pytest.mark.parametrize("name", _OF_ITEMS)
def test_the_same_of_memories_that_exist(name: str, served: Served) -> None:
    @given(case=_OPERATIONS[name].as_strategy(generation_mode=GenerationMode.POSITIVE))
    @_EACH
    def ask(case: schemathesis.Case) -> None:
        body = {"content": f"Shelf {next(_SHELVES)} holds a box", "confidence": 0.75}
        added = httpx2.post(f"{served.url}/api/memory", json=body, headers=_credential(name))
        assert added.status_code == 201, added.text
        case.path_parameters["item_id"] = added.json()["id"]
        case.headers.pop("Mnemic-User", None)
        if "If-Match" in case.headers:
            case.headers["If-Match"] = '"1"'
        _validate(case, served, name)

    _run(ask)


def _run(ask: Any, *, nothing_to_break: bool = False) -> None:
    if not nothing_to_break:
        ask()
        return
    with pytest.raises(Unsatisfiable):
        ask()


def _validate(case: schemathesis.Case, served: Served, name: str) -> None:
    case.call_and_validate(
        base_url=served.url, headers=_credential(name), excluded_checks=_NOT_PROMISED
    )


def _credential(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer mk_{'operator' if name == 'metrics' else name}"}
