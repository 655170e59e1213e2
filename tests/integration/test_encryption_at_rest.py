"""Is there a word of what people said in any file, dump, log or error message?"""

from __future__ import annotations

import base64
import json
import logging
import random
import subprocess
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from plaintext import Finder, encodings, fragments
from psycopg.types.json import Jsonb

from mnemic.errors import InvalidInput, MnemicError
from mnemic.longterm.draft import Draft
from mnemic.model import Actor, Turn
from mnemic.service import MemoryService
from mnemic.storage.cluster import wheel
from mnemic.storage.embedded import Joined, join
from stub_embedder import StubEmbedder

KIM = Actor("kim", session="s1")
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("ax", "elm", "ink", "orv", "uph", "yst")]


@dataclass
class Said:
    """Sentences of invented words, in English and Chinese, and everything that was stored of them."""

    random: random.Random = field(default_factory=lambda: random.Random(20240607))
    texts: list[str] = field(default_factory=list)
    as_control: bool = False

    def word(self) -> str:
        return "".join(self.random.sample(_SYLLABLES, 3)).capitalize()

    def han(self, length: int = 4) -> str:
        return "".join(chr(self.random.randrange(0x4E00, 0x9F00)) for _ in range(length))

    def new(self) -> str:
        """Return a sentence that was never said before."""
        forms = (
            [f"{self.word()} {self.word()}", self.han(12)]
            if self.as_control
            else [
                f"The {self.word()} club meets {self.word()} near {self.word()}",
                f"{self.han()}的院子里种着{self.han()}和{self.han()}",
                f"{self.word()} was painted by {self.word()} in oil",
                f"每逢{self.han()}我们都去{self.han()}钓鱼",
            ]
        )
        self.texts.append(forms[len(self.texts) % len(forms)])
        return self.texts[-1]

    def long(self, size: int) -> str:
        """Return a text that PostgreSQL compresses, in words short enough to stay whole in what comes out."""
        words = ["".join(self.random.sample("abcdefghijklmnopqrstuvwxyz", 6)) for _ in range(60)]
        words += self.random.choices(words, k=size // 7)
        self.texts.append(" ".join(words)[:size])
        return self.texts[-1]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Joined, Path, Path]]:
    """A server of its own: every file of it is looked into."""
    home = tmp_path_factory.mktemp("rest")
    joined = join(home / "data")
    yield joined, home / "data", home / "keys" / "k"
    joined.leave()


async def say_everything(memory: MemoryService, said: Said) -> None:
    """Put sentences through every door: items, edits, pending, metadata, reasons, messages, speakers."""
    drafts = [
        Draft(
            said.new(),
            confidence=0.75 if number % 4 == 0 else 0.9,
            scope="session" if number % 3 == 0 else "user",
            metadata={"note": said.new(), "deep": [{said.word(): said.new()}]}
            if number % 5 == 0
            else {},
            reason=said.new() if number % 2 else None,
        )
        for number in range(24)
    ]
    verdicts = await memory.add_many(KIM, drafts)
    assert {verdict.outcome for verdict in verdicts} <= {"stored", "superseded", "pending"}
    assert any(verdict.question for verdict in verdicts)
    page = await memory.list(KIM, status="active", limit=1000)
    for item in page.items[:8]:
        await memory.update(KIM, item.id, content=said.new(), metadata={"edited": said.new()})
    city, other = said.word(), said.word()
    said.texts += [f"I live in {city}", f"I no longer live in {city}, I live in {other} now"]
    await memory.add_explicit_memory(KIM, said.texts[-2])
    await memory.add_explicit_memory(KIM, said.texts[-1])
    turns = [Turn("user", said.new(), speaker=said.word()) for _ in range(16)]
    said.texts += [turn.speaker for turn in turns if turn.speaker]
    favourite = f"{said.han()}茶"
    said.texts.append(favourite)
    asked = f"记住：我最喜欢喝{favourite}"
    await memory.sessions.append(KIM, [*turns, Turn("user", asked), Turn("user", said.long(6_000))])
    await memory.extract(KIM)
    await add_documents(memory, said)
    await memory.search_memories(KIM, said.texts[0])
    await memory.search_memories(KIM, said.texts[1])


async def add_documents(memory: MemoryService, said: Said) -> None:
    """Put sentences into documents, titles and addresses: whole, replaced, deleted and left unfinished."""
    for number in range(6):
        text = f"# {said.new()}\n\n{said.new()}\n\n{said.long(6_000)}"
        address = f"https://example.org/{said.new()}"
        for version in (text, f"{text}\n\n{said.new()}"):
            added = await memory.resources.add(
                KIM, version, title=said.new(), uri=address, format="markdown"
            )
        if number == 0:
            await memory.resources.delete(KIM, added.id)
    page = await memory.resources.list(KIM)
    assert {one.kind for one in page.resources} == {"chat", "document"}
    assert {one.title for one in page.resources} - {None} <= set(said.texts)
    with pytest.raises(InvalidInput, match="document_not_text"):
        await memory.resources.add(KIM, said.new().encode() + bytes(1), title="a.md")


async def test_no_word_of_what_was_said_is_on_disk_in_a_dump_or_in_a_log(
    own: tuple[Joined, Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    joined, data_dir, key_file = own
    caplog.set_level(logging.DEBUG)
    said, control = Said(), Said(random.Random(7), as_control=True)
    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()) as memory:
        await say_everything(memory, said)
        known = {item.content for item in (await memory.list(KIM, status="all", limit=1000)).items}
        known |= {turn.content for turn in await memory.sessions.read(KIM)}
        documents = await memory.resources.list(KIM, kind="document")
        assert documents.total == 5
        known |= {one.title for one in documents.resources if one.title}
    assert len(known & set(said.texts)) >= 45, "what was said was not stored"
    assert len(said.texts) >= 80
    planted = plant(joined, control)
    secrets = {fragment for text in said.texts for fragment in fragments(text)}
    controls = {text: fragments(text) for text in planted}
    finder = Finder(secrets.union(*controls.values()))

    in_dumps = [finder.in_bytes(dump(joined, role)) for role in ("owner", "bootstrap")]
    with psycopg.connect(joined.url("bootstrap"), autocommit=True) as conn:
        conn.execute("checkpoint")
    in_files = finder.below(data_dir)
    for place in (*in_dumps, in_files):
        missed = [text[:40] for text, words in controls.items() if not words & place]
        assert missed == [], "the search does not find what is there: it would prove nothing"
        assert not secrets & place
    assert finder.in_bytes(caplog.text.encode()) == set()


def plant(joined: Joined, control: Said) -> list[str]:
    """Write control sentences as a careless program would, and return them."""
    names = ("text", "jsonb", "bytea", "long", "utf-16-le", "utf-16-be", "json", *range(3))
    texts = {name: control.new() for name in names} | {"long": control.long(6_000)}
    with psycopg.connect(joined.url("owner"), autocommit=True) as conn:
        conn.execute("create table public.scratch (t text, j jsonb, b bytea)")
        conn.execute("alter table public.scratch alter column t set compression pglz")
        insert = "insert into public.scratch values (%s, %s, %s)"
        conn.execute(
            insert, [texts["text"], Jsonb({"a": [texts["jsonb"]]}), texts["bytea"].encode()]
        )
        conn.execute(insert, [texts["long"], None, texts["utf-16-le"].encode("utf-16-le")])
        conn.execute(
            insert, [json.dumps(texts["json"]), None, texts["utf-16-be"].encode("utf-16-be")]
        )
        for shift in range(3):
            data = base64.b64encode(b"x" * shift + texts[shift].encode()).decode()
            conn.execute(insert, [data, None, None])
        stored = conn.execute(
            "select max(pg_column_size(t)), max(octet_length(t)) from public.scratch"
        ).fetchone()
    assert stored is not None
    assert stored[0] < stored[1] == 6_000, "the long value was not compressed"
    return list(texts.values())


def dump(joined: Joined, role: Any) -> bytes:
    command = [str(wheel().bin / "pg_dump"), "--enable-row-security", "-d", joined.url(role)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert b"COPY mnemic.memory_item" in done.stdout
    assert b"\nuser:kim\t" in done.stdout, "the dump holds no row of ours"
    return done.stdout


async def test_no_error_or_log_repeats_content(
    own: tuple[Joined, Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    joined, data_dir, key_file = own
    caplog.set_level(logging.DEBUG)
    said, shown = Said(random.Random(11)), list[str]()
    lee = Actor("lee", session="s1")

    async def provoke(memory: MemoryService) -> None:
        attempts = [
            memory.add_explicit_memory(lee, said.new()),
            memory.add_many(lee, [Draft(said.new()), Draft(said.new(), metadata={said.new(): 1})]),
            memory.sessions.append(lee, [Turn("user", said.new(), speaker=said.new())]),
            memory.search_memories(lee, said.new()),
            memory.search_memories(lee, said.new(), k=0),
            memory.add_explicit_memory(lee, said.new(), memory_type=said.new()),  # type: ignore[arg-type]
            memory.add_explicit_memory(lee, said.new(), metadata={"x": {said.new()}}),
            memory.get(lee, said.new()),
            memory.list(lee, cursor=said.new()),
            memory.sessions.append(lee, [Turn(said.new(), said.new())]),  # type: ignore[arg-type]
            memory.resources.index(lee),
            memory.resources.add(lee, said.new(), title=said.new(), uri=said.new()),
            memory.resources.add(lee, said.new().encode() + bytes(1), title=f"{said.new()}.md"),
            memory.resources.add(lee, said.new().encode(), title=said.new()),
            memory.resources.add(lee, said.new(), format=said.new()),  # type: ignore[arg-type]
            memory.resources.get(lee, said.new()),
            memory.resources.list(lee, kind=said.new()),
        ]
        for attempt in attempts:
            try:
                await attempt
            except MnemicError as error:
                shown.extend(traceback.format_exception(error))
                shown.append(repr(error) + repr(error.details))

    async with MemoryService.open(data_dir, key_file=key_file, embedder=StubEmbedder()) as memory:
        await memory.add_explicit_memory(lee, said.new())
        await provoke(memory)
        refused = len(shown)
        break_tables(joined, "add constraint broken check (false) not valid")
        await provoke(memory)
        break_tables(joined, "drop constraint broken")
    assert refused > 10
    assert any("CheckViolation" in line for line in shown), "no statement failed in the database"
    secrets = {fragment for text in said.texts for fragment in fragments(text)}
    finder = Finder(secrets)
    log = (data_dir / "postgres" / "server.log").read_bytes()
    assert finder.in_bytes("".join(shown).encode()) == set()
    assert finder.in_bytes(caplog.text.encode()) == set()
    assert finder.in_bytes(log) == set()


def break_tables(joined: Joined, change: str) -> None:
    """Let every insert fail with an error that quotes the row."""
    with psycopg.connect(joined.url("owner"), autocommit=True) as conn:
        for table in ("memory_item", "message", "resource", "chunk", "chunk_draft"):
            conn.execute(f"alter table mnemic.{table} {change}".encode())


def test_the_search_finds_each_form_of_a_text_and_no_other_text() -> None:
    said = Said(random.Random(3))
    for text in (said.new(), said.new(), said.word(), said.han()):
        finder = Finder([text, said.new()])
        for pattern in encodings(text):
            assert finder.in_bytes(b"\0\1" + pattern + b"\2") == {text}
        for shift in range(3):
            planted = base64.b64encode(b"#" * shift + text.encode() + b"##")
            if len(text.encode()) >= 10:
                assert finder.in_bytes(planted) == {text}
        assert finder.in_bytes(said.new().encode()) == set()
