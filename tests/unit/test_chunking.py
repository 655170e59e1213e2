"""Is every word of a document in a piece, at the right place, whatever the document looks like?"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.resources.chunking import SIZE, Block, Piece, pieces, split
from mnemic.resources.formats import format_of, markdown_blocks, text_blocks
from mnemic.resources.html import html_blocks

SENTENCE = "The kettle on the left boils water faster than the other one. "
LONGEST = SIZE * 1.3 + SIZE * 0.25 + 4


def cut(text: str, *, step: int = 7) -> list[Piece]:
    """Cut Markdown that comes in small parts."""
    return list(pieces(markdown_blocks(text[i : i + step] for i in range(0, len(text), step))))


def test_a_short_text_is_one_piece() -> None:
    assert cut("Hello.\n\nSecond paragraph.") == [Piece("Hello.\n\nSecond paragraph.")]


def test_pieces_stand_under_their_headings_and_never_cross_one() -> None:
    text = (
        "# House\nIntro.\n## Kitchen\nTea.\n### Shelf\nCups.\n## Cellar ##\nWine.\n# Garden\nRoses."
    )
    assert cut(text) == [
        Piece("Intro.", ("House",)),
        Piece("Tea.", ("House", "Kitchen")),
        Piece("Cups.", ("House", "Kitchen", "Shelf")),
        Piece("Wine.", ("House", "Cellar")),
        Piece("Roses.", ("Garden",)),
    ]
    assert cut(text)[2].text == "House > Kitchen > Shelf\nCups."


def test_a_heading_with_nothing_below_is_not_lost() -> None:
    assert cut("# A\n## B\n## C\ntext\n# D") == [
        Piece("B", ("A",)),
        Piece("text", ("A", "C")),
        Piece("D"),
    ]


def test_underlined_headings_and_rules() -> None:
    assert cut("Title\n=====\nText.\n\nPart\n---\nMore.\n\n---\nEnd.") == [
        Piece("Text.", ("Title",)),
        Piece("More.\n\n---\nEnd.", ("Title", "Part")),
    ]


def test_code_is_no_heading() -> None:
    assert cut("# A\n```sh\n# not a heading\n\n~~~\n```\nafter\n# B\nx") == [
        Piece("```sh\n# not a heading\n\n~~~\n```\nafter", ("A",)),
        Piece("x", ("B",)),
    ]
    assert cut("#hashtag is text") == [Piece("#hashtag is text")]


def test_long_paragraphs_end_where_sentences_end() -> None:
    found = cut(SENTENCE * 60)
    assert len(found) > 3
    assert all(piece.body.endswith(".") for piece in found)
    assert all(len(piece.body) <= LONGEST for piece in found)


def test_chinese_without_spaces_ends_where_sentences_end() -> None:
    found = cut("左边的水壶烧水比右边的快，所以我们先用它。" * 100)
    assert len(found) > 2
    assert all(piece.body.endswith("。") for piece in found)


def test_the_last_piece_is_not_a_crumb() -> None:
    text = SENTENCE.strip() + "\n\n"
    for count in range(1, 60):
        found = cut(text * count, step=1000)
        assert all(len(piece.body) >= SIZE / 4 for piece in found) or len(found) == 1


def test_a_path_of_headings_stays_short() -> None:
    (piece,) = pieces([*[Block("h" * 500, level) for level in range(1, 7)], Block("body")])
    assert len(piece.text) < 320
    assert piece.text.endswith("\nbody")


@given(st.text(max_size=3_000), st.integers(1, 400))
def test_parts_of_a_text_are_the_text(text: str, size: int) -> None:
    parts = list(split(text, size))
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part and len(part) <= size * 1.3 for part in parts)


WORDS = st.text("abcdefg。!? \n#-=`~", min_size=1, max_size=400)


@given(WORDS, st.integers(1, 50))
def test_markdown_keeps_every_letter_however_it_arrives(text: str, step: int) -> None:
    found = cut(text, step=step)
    assert found == cut(text, step=10_000)
    own = [letter for piece in found for part in (*piece.headings, piece.body) for letter in part]
    assert set(text) & set("abcdefg") <= set(own)
    bodies = "".join(piece.body for piece in found)
    plain = [line for line in text.split("\n") if not line.lstrip().startswith(("#", "=", "-"))]
    assert len(bodies) <= len(text) + 2 * len(found) + 2 * len(plain)


@given(st.lists(st.text("abc 。.\n", max_size=80), max_size=30))
def test_plain_text_keeps_its_letters_in_order(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    found = "".join(piece.body for piece in pieces(text_blocks([text])))
    assert "".join(found.split()) == "".join(text.split())


def test_control_characters_are_taken_out() -> None:
    assert list(pieces([Block("a\x00b\u202ec")])) == [Piece("abc")]


PAGE = """<!doctype html><html><head><title>Tea &amp; more</title><style>p { x: "hidden" }</style>
<script>var hidden = "<p>hidden</p>";</script></head>
<body><nav><a href="/hidden">Start</a></nav><h1>Kettles</h1><p>The <b>left</b>
one boils&nbsp;fast.<br>Really.</p><!-- hidden --><h2>Prices</h2>
<table><tr><th>Kind</th><th>Price</th></tr><tr><td>Red</td><td>7</td></tr></table>
<pre>  keep
    this</pre><noscript>hidden</noscript><ul><li>One<li>Two</ul><template><p>hidden</p></template>
"""


@pytest.mark.parametrize("step", [1, 3, 50, 10_000])
def test_a_page_is_read_as_it_is_seen(step: int) -> None:
    blocks = list(html_blocks(PAGE[i : i + step] for i in range(0, len(PAGE), step)))
    assert [(block.text.strip(), block.level) for block in blocks] == [
        ("Tea & more", 0),
        ("Start", 0),
        ("Kettles", 1),
        ("The left one boils fast.\nReally.", 0),
        ("Prices", 2),
        ("Kind | Price", 0),
        ("Red | 7", 0),
        ("keep\n    this", 0),
        ("One", 0),
        ("Two", 0),
    ]


@pytest.mark.parametrize(
    "broken",
    [
        "<script>x",
        "<!-- never closed",
        "<p title='never closed",
        "<![CDATA[",
        "</",
        "&#",
        "<div" * 50,
    ],
)
def test_broken_pages_are_read_up_to_where_they_break(broken: str) -> None:
    blocks = list(html_blocks(["<p>Seen.</p>", broken]))
    assert blocks[0] == Block("Seen.")


def test_a_construct_that_never_ends_does_not_pile_up() -> None:
    def endless() -> Iterator[str]:
        yield "<p>Seen.</p><!-- "
        for _ in range(100):
            yield "x" * 65_536

    assert next(html_blocks(endless())) == Block("Seen.")
    assert sum(1 for _ in html_blocks(endless())) >= 1


def test_ten_megabytes_pass_through_in_little_memory() -> None:
    def endless(size: int) -> Iterator[str]:
        block = ("# Part\n" + SENTENCE * 20 + "\n\n") * 50
        for _ in range(size // len(block)):
            yield block

    for_size = {}
    for size in (1_000_000, 10_000_000):
        tracemalloc.start()
        count = sum(1 for _ in islice(pieces(markdown_blocks(endless(size))), None))
        for_size[size] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count > size // 1_000 * 0.8
    assert for_size[10_000_000] < 2_000_000
    assert for_size[10_000_000] < 1.5 * for_size[1_000_000]


@pytest.mark.parametrize(
    "text", ["x" * 2_000_000, "x\n" * 500_000, "| a " * 400_000, "```\n" + "y\n" * 400_000]
)
def test_text_without_ends_is_cut_all_the_same(text: str) -> None:
    found = list(pieces(markdown_blocks(text[i : i + 65_536] for i in range(0, len(text), 65_536))))
    assert len(found) > 100
    assert all(len(piece.body) <= LONGEST for piece in found)


@pytest.mark.parametrize(
    ("given", "names", "expected"),
    [
        (None, ["notes.MD"], "markdown"),
        (None, ["https://example.org/a/page.html?x=1.pdf#y"], "html"),
        (None, [None, "report.pdf"], "pdf"),
        ("text", ["a.md"], "text"),
        (None, ["a.unknown", "b.txt"], "text"),
    ],
)
def test_the_name_tells_the_format(given: str | None, names: list[str], expected: str) -> None:
    assert format_of(given, *names) == expected


def test_an_unknown_format_is_refused() -> None:
    for names in (["a.docx"], ["noextension"], [], [None]):
        with pytest.raises(InvalidInput, match="document_format_unknown"):
            format_of(None, *names)
    with pytest.raises(InvalidInput, match="unknown_format"):
        format_of("docx")
