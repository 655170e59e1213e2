"""Do the sentences of the program hold for one thing as for many, and for what was done already?"""

from __future__ import annotations

import pytest

from mnemic.cli.demo import mark_of
from mnemic.cli.models import _told
from mnemic.cli.output import counted
from mnemic.embedding.change import Changed

CONTEXT = (
    "<profile>\nnot used: swimming\n</profile>\n"
    "<memories>\n- I like jam\n</memories>\n<conversations>\nI saw a heron\n</conversations>"
)


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 vectors"), (1, "1 vector"), (2, "2 vectors"), (1234, "1,234 vectors")],
)
def test_one_is_not_many(number: int, told: str) -> None:
    assert counted(number, "vector") == told
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(2, "entry", "entries") == "2 entries"


def test_a_change_to_another_model_says_what_is_to_be_done() -> None:
    first, last = _told(Changed(1, "m", 64, "before"), 2.0)
    assert first == "1 vector is of m (64 dimensions) now; it took 2 s."
    assert last.startswith("Configure m in every process")


def test_a_change_to_the_model_in_use_asks_for_nothing() -> None:
    assert _told(Changed(0, "m", 1, "m", in_use=True), 2.0) == [
        "m (1 dimension) is in use already: nothing is to be done."
    ]
    assert _told(Changed(3, "m", 64, "m", in_use=True, given_up="other"), 2.0) == [
        "m (64 dimensions) is in use already; 3 vectors are of it now that were not.",
        "The change to other was given up.",
    ]


@pytest.mark.parametrize(
    ("content", "mark"),
    [("I like jam", "*"), ("swimming", "+"), ("I saw a heron", " "), ("I like tea", " ")],
)
def test_a_hit_of_the_demo_is_marked_by_where_the_prompt_has_it(content: str, mark: str) -> None:
    assert mark_of(content, CONTEXT) == mark
    assert mark_of("I like jam", CONTEXT.partition("<memories>")[0]) == " "
