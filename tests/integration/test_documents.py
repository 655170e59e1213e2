"""Are documents searchable as a whole or not at all, once each, and gone when they are removed?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from conftest import Connect, Prepare
from mnemic import Actor, MemoryService, SyncMemoryService, Turn
from mnemic.errors import ConfigurationError, Conflict, EmbeddingError, InvalidInput, NotFound
from mnemic.resources import pdf
from mnemic.resources.documents import BATCH
from mnemic.settings import Settings
from stub_embedder import StubEmbedder, curve, vector

KIM, LEE = Actor("kim"), Actor("lee")
SENTENCE = "Kettle number {0} on shelf {0} boils water faster than the other one. "
MANUAL = "# Manual\n\nRead me.\n\n## Safety\n\n不要把水壶放在孩子够得到的地方。\n"


def long_text(pieces: int) -> str:
    return "\n\n".join(SENTENCE.format(n) * 12 for n in range(pieces))


async def count(connect: Connect, table: str = "chunk") -> int:
    query = f"select count(*) as n from {table}"
    row = await (await (await connect("owner")).execute(query.encode())).fetchone()
    assert row is not None
    return int(row["n"])


async def texts(memory: MemoryService, resource_id: object, actor: Actor = KIM) -> list[str]:
    return [chunk.text for chunk in await memory.resources.read(actor, resource_id, limit=1000)]


async def stream(data: bytes, step: int = 1_000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), step):
        await asyncio.sleep(0)
        yield data[start : start + step]


class Dying(StubEmbedder):
    """Embeds so many batches, then is away until it is healed."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.embedded = 0

    async def embed(self, texts: Sequence[str]) -> list[Any]:
        if self.calls == 0:
            raise EmbeddingError("embedding_unreachable", "The endpoint does not answer.")
        self.calls -= 1
        self.embedded += len(texts)
        await asyncio.sleep(0)
        return [vector(text) for text in texts]


async def test_a_file_becomes_pieces_under_its_headings(
    stub_memory: MemoryService, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / "手册 manual.md"
    path.write_text(MANUAL, encoding="utf-8")
    report = await stub_memory.resources.add(KIM, path)
    assert (report.outcome, report.chunks) == ("stored", 2)
    assert await texts(stub_memory, report.id) == [
        "Manual\nRead me.",
        "Manual > Safety\n不要把水壶放在孩子够得到的地方。",
    ]
    resource = await stub_memory.resources.get(KIM, report.id)
    assert (resource.title, resource.uri) == (path.name, path.as_uri())
    assert (resource.kind, resource.collection) == ("document", "knowledge_base")
    row = await (
        await (await connect("owner")).execute(
            "select role, asking, stands, speaker_mac, passages::text, embedding::real[] as vector, n_tokens"
            " from chunk where ordinal = 1"
        )
    ).fetchone()
    assert row is not None
    assert (row["role"], row["asking"], row["stands"], row["speaker_mac"]) == (1, 0, False, None)
    assert row["passages"] == "{}"
    assert row["n_tokens"] == 3
    wanted = vector("Manual\nRead me.")
    assert all(abs(a - b) < 0.002 for a, b in zip(row["vector"], wanted, strict=True))


async def test_the_same_bytes_again_change_nothing(
    stub_memory: MemoryService, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / "a.md"
    path.write_text(MANUAL, encoding="utf-8")
    first = await stub_memory.resources.add(KIM, path)
    again = await stub_memory.resources.add(KIM, path)
    streamed = await stub_memory.resources.add(
        KIM, stream(MANUAL.encode()), uri="https://example.org/m.md"
    )
    assert {first.id, again.id, streamed.id} == {first.id}
    assert [r.outcome for r in (first, again, streamed)] == ["stored", "unchanged", "unchanged"]
    assert again.chunks == 2
    assert await count(connect) == 2
    other = await stub_memory.resources.add(LEE, path)
    elsewhere = await stub_memory.resources.add(KIM, path, collection="memory")
    assert [other.outcome, elsewhere.outcome] == ["stored", "stored"]


async def test_new_content_at_the_same_address_replaces_the_old(
    stub_memory: MemoryService, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The kettle is red.", encoding="utf-8")
    old = await stub_memory.resources.add(KIM, path)
    path.write_text("The kettle is blue now.", encoding="utf-8")
    new = await stub_memory.resources.add(KIM, path)
    assert (new.outcome, new.id != old.id) == ("replaced", True)
    assert await texts(stub_memory, new.id) == ["The kettle is blue now."]
    with pytest.raises(NotFound, match="resource_not_found"):
        await stub_memory.resources.get(KIM, old.id)
    assert await count(connect) == await count(connect, "resource") == 1


async def test_an_address_that_takes_the_content_of_another_leaves_one_document(
    stub_memory: MemoryService, connect: Connect
) -> None:
    one = await stub_memory.resources.add(KIM, "The kettle is red.", uri="a:1")
    await stub_memory.resources.add(KIM, "The kettle is blue.", uri="a:2")
    same = await stub_memory.resources.add(KIM, "The kettle is red.", uri="a:2")
    assert (same.id, same.outcome) == (one.id, "replaced")
    assert await count(connect, "resource") == 1


async def test_readers_see_the_old_document_until_the_new_one_is_whole(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    embedder = Dying(calls=1_000)
    await prepare(settings, embedder, curve())
    async with MemoryService.open(settings=settings, embedder=embedder) as memory:
        old = await memory.resources.add(KIM, "The kettle is red.", uri="a:1")
        embedder.calls = 2
        with pytest.raises(EmbeddingError):
            await memory.resources.add(KIM, long_text(4 * BATCH), uri="a:1")
        assert (await memory.resources.list(KIM)).resources[0].id == old.id
        assert await count(connect) == 1
        assert await count(connect, "chunk_draft") == 2 * BATCH


async def test_an_embedder_that_dies_midway_is_picked_up_without_doubles(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    embedder = Dying(calls=2)
    await prepare(settings, embedder, curve())
    async with MemoryService.open(settings=settings, embedder=embedder) as memory:
        text = long_text(3 * BATCH)
        for _ in range(2):
            with pytest.raises(EmbeddingError, match="embedding_unreachable"):
                await memory.resources.add(KIM, text)
        assert await count(connect, "chunk_draft") == 2 * BATCH
        embedder.calls, embedder.embedded = 1_000, 0
        report = await memory.resources.add(KIM, text)
        assert report.outcome == "stored"
        assert report.chunks == await count(connect) > 2 * BATCH
        assert embedder.embedded == report.chunks - 2 * BATCH
        assert await count(connect, "chunk_draft") == 0
        found = await texts(memory, report.id)
    assert "".join("".join(found).split()) == "".join(text.split())


async def test_drafts_with_a_gap_or_of_another_model_are_made_anew(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    embedder = Dying(calls=2)
    await prepare(settings, embedder, curve())
    async with MemoryService.open(settings=settings, embedder=embedder) as memory:
        text = long_text(3 * BATCH)
        with pytest.raises(EmbeddingError):
            await memory.resources.add(KIM, text)
        await (await connect("owner")).execute("delete from chunk_draft where ordinal = 3")
        embedder.calls, embedder.embedded = 1_000, 0
        report = await memory.resources.add(KIM, text)
        assert embedder.embedded == report.chunks == await count(connect)


async def test_two_at_once_leave_one_document(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    embedder = Dying(calls=10_000)
    await prepare(settings, embedder, curve())
    text = long_text(2 * BATCH)
    async with MemoryService.open(settings=settings, embedder=embedder) as memory:
        reports = await asyncio.gather(*[memory.resources.add(KIM, text) for _ in range(4)])
        assert sorted(report.outcome for report in reports) == ["stored", *["unchanged"] * 3]
        assert {report.id for report in reports} == {reports[0].id}
        assert await count(connect) == reports[0].chunks
        assert await count(connect, "resource") == 1
        assert "".join("".join(await texts(memory, reports[0].id)).split()) == "".join(text.split())


async def test_pieces_go_with_their_document(stub_memory: MemoryService, connect: Connect) -> None:
    report = await stub_memory.resources.add(KIM, long_text(5))
    shown = await stub_memory.resources.delete(KIM, report.id, dry_run=True)
    assert (shown.chunks, shown.dry_run, await count(connect)) == (
        report.chunks,
        True,
        report.chunks,
    )
    gone = await stub_memory.resources.delete(KIM, str(report.id))
    assert (gone.chunks, await count(connect)) == (report.chunks, 0)
    with pytest.raises(NotFound, match="resource_not_found"):
        await stub_memory.resources.delete(KIM, report.id)
    assert (await stub_memory.resources.add(KIM, long_text(5))).outcome == "stored"


async def test_nobody_reaches_the_documents_of_another(stub_memory: MemoryService) -> None:
    report = await stub_memory.resources.add(KIM, "The kettle is red.")
    for call in (
        stub_memory.resources.get,
        stub_memory.resources.read,
        stub_memory.resources.delete,
    ):
        with pytest.raises(NotFound, match="resource_not_found"):
            await call(LEE, report.id)
    assert (await stub_memory.resources.list(LEE)).total == 0
    assert (await stub_memory.resources.list(KIM)).total == 1


async def test_lists_come_in_pages_with_conversations_among_them(
    stub_memory: MemoryService,
) -> None:
    talker = Actor("kim", session="s1")
    await stub_memory.sessions.append(talker, [Turn("user", "Hello"), Turn("user", "there")])
    await stub_memory.resources.index(talker)
    for number in range(4):
        await stub_memory.resources.add(KIM, f"Text number {number}", title=f"T{number}")
    page = await stub_memory.resources.list(KIM, limit=3)
    rest = await stub_memory.resources.list(KIM, limit=3, cursor=page.cursor)
    assert [one.title for one in page.resources] == ["T3", "T2", "T1"]
    assert [(one.title, one.session, one.kind) for one in rest.resources] == [
        ("T0", None, "document"),
        (None, "s1", "chat"),
    ]
    assert (page.total, rest.total, rest.cursor) == (5, 5, None)
    assert (await stub_memory.resources.list(KIM, kind="chat")).total == 1
    assert (await stub_memory.resources.list(KIM, collection="knowledge_base")).total == 4
    assert await texts(stub_memory, rest.resources[1].id) == ["Hello", "there"]
    with pytest.raises(InvalidInput, match="unknown_kind"):
        await stub_memory.resources.list(KIM, kind="song")


async def test_a_conversation_that_was_removed_is_not_searched_again(
    stub_memory: MemoryService, connect: Connect
) -> None:
    talker = Actor("kim", session="s1")
    await stub_memory.sessions.append(talker, [Turn("user", "Hello")])
    await stub_memory.resources.index(talker)
    (resource,) = (await stub_memory.resources.list(KIM)).resources
    await stub_memory.resources.delete(KIM, resource.id)
    await stub_memory.sessions.append(talker, [Turn("user", "Again")])
    assert await stub_memory.resources.index(talker) == 1
    assert await count(connect) == 1


BINARY = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("picture.md", b"\x89PNG\r\n\x1a\n" + BINARY, "document_not_text"),
        ("noise.txt", bytes(b for b in BINARY if b > 127), "document_not_text"),
        ("latin.txt", "café crème à la carte".encode("latin-1"), "document_not_text"),
        ("cut.txt", "水壶".encode()[:-1], "document_not_text"),
        ("page.html", b"<p>\x00\x01\x02</p>", "document_not_text"),
        ("paper.md", b"%PDF-1.4\nplain enough to be text\n%%EOF\n", "document_not_text"),
        ("empty.md", b"", "document_empty"),
        ("blank.md", b" \n\t\n", "document_empty"),
        ("page.html", b"<html><script>var x</script></html>", "document_empty"),
        ("a.docx", b"text", "document_format_unknown"),
        ("noname", b"text", "document_format_unknown"),
        ("a.pdf", b"no pdf at all", "document_unreadable"),
        ("a.pdf", b"%PDF-1.7\n" + BINARY, "document_unreadable"),
    ],
)
async def test_what_is_no_document_is_refused_and_leaves_nothing(
    name: str, data: bytes, code: str, stub_memory: MemoryService, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=code):
        await stub_memory.resources.add(KIM, path)
    with pytest.raises(InvalidInput, match=code):
        await stub_memory.resources.add(KIM, stream(data), title=name)
    assert [await count(connect, table) for table in ("resource", "chunk", "chunk_draft")] == [
        0
    ] * 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
async def test_chinese_in_its_usual_encodings_is_read(
    encoding: str, stub_memory: MemoryService, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("水壶在左边的架子上，kettle。".encode(encoding))
    report = await stub_memory.resources.add(KIM, path)
    assert await texts(stub_memory, report.id) == ["水壶在左边的架子上，kettle。"]


async def test_files_that_are_none_are_refused(stub_memory: MemoryService, tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InvalidInput, match="file_not_found"):
        await stub_memory.resources.add(KIM, tmp_path / "none.md")
    with pytest.raises(InvalidInput, match="file_unreadable"):
        await stub_memory.resources.add(KIM, tmp_path / "folder.md")
    with pytest.raises(InvalidInput, match="file_unreadable"):
        await stub_memory.resources.add(KIM, tmp_path)
    with pytest.raises(InvalidInput, match="file_unreadable"):
        await stub_memory.resources.add(KIM, Path("/dev/zero"), format="text")
    with pytest.raises(InvalidInput, match="document_not_bytes"):
        await stub_memory.resources.add(KIM, 7, format="text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"kind": "chat"}, "unknown_kind"),
        ({"collection": "x"}, "unknown_collection"),
        ({"format": "docx"}, "unknown_format"),
        ({"title": "x" * 501}, "title_too_long"),
        ({"uri": "x" * 2_001}, "uri_too_long"),
        ({"uri": 7}, "uri_not_text"),
        ({"occurred_at": datetime(2026, 1, 1)}, "naive_datetime"),
    ],
)
async def test_labels_that_cannot_be_meant_are_refused(
    given: dict[str, Any], code: str, stub_memory: MemoryService
) -> None:
    with pytest.raises(InvalidInput, match=code):
        await stub_memory.resources.add(KIM, "The kettle is red.", **given)


async def test_a_document_may_have_a_day(stub_memory: MemoryService) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    report = await stub_memory.resources.add(KIM, "The kettle is red.", occurred_at=day)
    assert (await stub_memory.resources.get(KIM, report.id)).occurred_at == day


async def test_too_large_is_said_before_anything_is_embedded(
    stub_memory: MemoryService, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024 + 1)
    with pytest.raises(InvalidInput, match="document_too_large"):
        await stub_memory.resources.add(KIM, path)
    with pytest.raises(InvalidInput, match="document_too_large"):
        await stub_memory.resources.add(
            KIM, stream(bytes(50 * 1024 * 1024 + 1), 1_000_000), format="text"
        )


async def test_a_file_that_changes_while_it_is_read_is_not_stored(
    settings: Settings, prepare: Prepare, tmp_path: Path, connect: Connect
) -> None:
    path = tmp_path / "a.txt"

    class Meddling(StubEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            path.write_text(path.read_text(encoding="utf-8") + "more", encoding="utf-8")
            return await super().embed(texts)

    await prepare(settings, StubEmbedder(), curve())
    path.write_text(long_text(3 * BATCH), encoding="utf-8")
    async with MemoryService.open(settings=settings, embedder=Meddling()) as memory:
        with pytest.raises(Conflict, match="document_changed"):
            await memory.resources.add(KIM, path)
    assert await count(connect) == 0


async def test_a_piece_that_the_model_refuses_is_found_by_its_words(
    settings: Settings, prepare: Prepare, connect: Connect
) -> None:
    class Choosy(StubEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Any]:
            refused = EmbeddingError("embedding_refused", "Not this text.", status=400)
            return [refused if "number 2 " in text else vector(text) for text in texts]

    await prepare(settings, Choosy(), curve())
    async with MemoryService.open(settings=settings, embedder=Choosy()) as memory:
        report = await memory.resources.add(KIM, long_text(5))
    owner = await connect("owner")
    rows = await owner.execute("select ordinal from chunk where embedding is null and n_tokens > 0")
    assert report.chunks == 5
    assert [row["ordinal"] for row in await rows.fetchall()] == [3]


async def test_ten_megabytes_are_read_in_bounded_memory(
    settings: Settings, prepare: Prepare, tmp_path: Path, connect: Connect
) -> None:
    class Quick(StubEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            return [vector(text[:20]) for text in texts]

    await prepare(settings, Quick(), curve())
    path = tmp_path / "large.md"
    with path.open("w", encoding="utf-8") as file:
        for part in range(2_000):
            file.write(f"# Part {part}\n\n" + SENTENCE.format(part) * 73 + "\n\n")
    assert path.stat().st_size > 10_000_000
    seen: list[tuple[int, int]] = []
    process = psutil.Process()
    peak = 0

    def watch(done: int, total: int) -> None:
        nonlocal peak
        seen.append((done, total))
        peak = max(peak, process.memory_info().rss)

    async with MemoryService.open(settings=settings, embedder=Quick()) as memory:
        await memory.resources.add(KIM, long_text(2 * BATCH))
        before = process.memory_info().rss
        report = await memory.resources.add(KIM, path, progress=watch)
    assert report.chunks == await count(connect) - 2 * BATCH > 10_000
    assert peak - before < 30_000_000
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def make_pdf(lines: Sequence[str]) -> bytes:
    """Return a PDF of one page a line, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(lines)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(lines)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for n, line in enumerate(lines):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        shown = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET"
        objects.append(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{at:010d} 00000 n \n" for at in places)
    count = len(objects) + 1
    tail = (
        f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
    )
    return body + f"{tail}startxref\n{len(body)}\n%%EOF\n".encode()


async def test_a_pdf_is_read_page_by_page(stub_memory: MemoryService, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(make_pdf(["The kettle is red.", "It stands on the left."]))
    report = await stub_memory.resources.add(KIM, path)
    assert await texts(stub_memory, report.id) == ["The kettle is red.\n\nIt stands on the left."]
    again = await stub_memory.resources.add(KIM, stream(path.read_bytes()), format="pdf")
    assert again.outcome == "unchanged"
    path.write_bytes(make_pdf([]))
    with pytest.raises(InvalidInput, match="document_empty"):
        await stub_memory.resources.add(KIM, path)


async def test_without_the_extra_a_pdf_says_what_to_install(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        assert name == "pypdf"

    monkeypatch.setattr(pdf.importlib.util, "find_spec", missing)
    with pytest.raises(ConfigurationError, match="pdf_not_installed"):
        await stub_memory.resources.add(KIM, b"%PDF-1.4", title="a.pdf")


async def test_blocking_code_adds_and_reads_documents(
    settings: Settings, prepare: Prepare, tmp_path: Path
) -> None:
    await prepare(settings, StubEmbedder(), curve())
    path = tmp_path / "a.md"
    path.write_text(MANUAL, encoding="utf-8")

    def work() -> list[str]:
        with SyncMemoryService.open(settings=settings, embedder=StubEmbedder()) as memory:
            report = memory.resources.add(KIM, path)
            return [chunk.text for chunk in memory.resources.read(KIM, report.id)]

    assert (await asyncio.to_thread(work))[0] == "Manual\nRead me."


async def test_an_id_that_is_none_is_refused(stub_memory: MemoryService) -> None:
    with pytest.raises(InvalidInput, match="invalid_resource_id"):
        await stub_memory.resources.get(KIM, "x")
    with pytest.raises(NotFound, match="resource_not_found"):
        await stub_memory.resources.get(KIM, uuid4())
