"""Does the documentation tell the truth? Every command and example in it is run, every link followed.

A page runs from top to bottom in a directory and a schema of its own. In console blocks lines without ``$``
are the expected output, where ``…`` stands for anything; ``ID`` is the id that was printed last. The README
runs with the program as installed, other pages with one that is forked (``forked``).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from conftest import make_quick
from contract.scripted_server import Answer, Request, Scripted, serving
from e2e import forked
from e2e.forked import nursery
from e2e.pages import ROOT, Block, anchors, blocks, headings, links, name, pages
from mnemic.storage.cluster import wheel
from mnemic.storage.embedded import Joined, join
from stub_embedder import vector

RUN = ("bash", "console", "python")
RUNNABLE = ("README", "docs/quickstart/", "docs/howto/", "docs/explain/", "docs/reference/")
NOT_RUN = {
    # (page, first line): why this block cannot run here
    ("README.md", "make demo"): "runs the whole demo: test_cli does",
    ("README.zh.md", "make demo"): "runs the whole demo: test_cli does",
    ("README.md", "pip install '.[embedded]'"): "downloads packages",
    ("README.zh.md", "pip install '.[embedded]'"): "downloads packages",
    (
        "docs/quickstart/first-memory.md",
        "python3 -m venv .venv && . .venv/bin/activate",
    ): "downloads packages",
    ("docs/howto/openai-compatible.md", "pip install '.[embedded,openai]'"): "downloads packages",
}
SKETCHES = {
    # protocols whose bodies are "...": they compile, there is nothing to run
    "docs/reference/embedder-protocol.md",
    "docs/reference/chat-model-protocol.md",
    "docs/reference/key-provider-protocol.md",
}
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_BIN = Path(sys.executable).parent


def _path(*first: Path) -> str:
    return os.pathsep.join([*map(str, (*first, _BIN)), os.environ["PATH"]])


def _runnable(page: Path) -> bool:
    # the Chinese README has the blocks of the English one, which is tested
    skipped = SKETCHES | {"README.zh.md"}
    return name(page).startswith(RUNNABLE) and name(page) not in skipped and bool(_to_run(page))


def _to_run(page: Path) -> list[Block]:
    return [
        b for b in blocks(page) if b.language in RUN and not {"no-run", "own-server"} & set(b.marks)
    ]


# ---- what stands there


def test_blocks_that_are_not_run_are_few_and_named() -> None:
    marked = {
        (b.page, b.first_line) for page in pages() for b in blocks(page) if "no-run" in b.marks
    }
    assert marked == NOT_RUN.keys()


def test_marks_are_known() -> None:
    marks = {mark for page in pages() for block in blocks(page) for mark in block.marks}
    assert marks <= {"no-run", "own-server"}


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, fragment = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        assert target.is_relative_to(ROOT)
        assert not fragment or fragment in anchors(target), f"{name(page)} links to {link}"


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    linked |= {
        (ROOT / "docs" / "adr" / link).resolve()
        for link in links(ROOT / "docs" / "adr" / "README.md")
    }
    wanted = set((ROOT / "docs").rglob("*.md")) - {index}
    assert wanted - linked == set()


def test_the_two_readmes_are_equal_section_by_section() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh.md"
    assert [level for level, _ in headings(english)] == [level for level, _ in headings(chinese)]
    assert [(b.language, b.marks, b.text) for b in blocks(english)] == [
        (b.language, b.marks, b.text) for b in blocks(chinese)
    ]
    swapped = {"README.md": "README.zh.md", "README.zh.md": "README.md"}
    assert [swapped.get(link, link) for link in links(english)] == links(chinese)


@pytest.mark.parametrize("page", sorted(SKETCHES))
def test_protocol_sketches_compile(page: str) -> None:
    for block in blocks(ROOT / page):
        if block.language == "python":
            compile(block.text, f"{page}:{block.line}", "exec")


def test_the_reference_of_commands_lists_every_command_and_option() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    helped = _help([])
    for command in re.findall(r"^  (\w+) ", helped.partition("Commands:")[2], re.MULTILINE):
        assert re.search(rf"`mnemic {command}\b", page), command
        if command not in ("verify", "db", "embedding", "resource"):
            for option in re.findall(r"^  .*?(--[a-z-]+)", _help([command]), re.MULTILINE):
                assert option in page or option == "--help", f"{command} {option}"


# ---- running it


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a server that stays up while the pages come and go."""
    directory = tmp_path_factory.mktemp("docs")
    joined = join(directory / "data")
    make_quick(joined)
    yield directory
    joined.leave()


@pytest.fixture
def work(home: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a page: a schema and a key of its own."""
    return os.environ | {
        "PATH": _path(nursery().bin),
        "MNEMIC_DATA_DIR": str(home / "data"),
        "MNEMIC_KEY_FILE": str(tmp_path / "keys" / "docs.key"),
        "MNEMIC_SCHEMA": f"docs_{uuid4().hex[:12]}",
        "MNEMIC_USER": "kim",
        "PYTHONIOENCODING": "utf-8",
        "OPENBLAS_NUM_THREADS": "1",
        "HOME": str(tmp_path),
    }


_SPECIAL = {
    "docs/howto/own-postgresql.md",
    "docs/howto/openai-compatible.md",
    "docs/howto/backup.md",
    "docs/howto/change-the-embedder.md",
}


@pytest.mark.parametrize(
    "page", [p for p in pages() if _runnable(p) and name(p) not in _SPECIAL], ids=name
)
def test_page_runs(page: Path, work: dict[str, str], tmp_path: Path) -> None:
    if name(page) == "README.md":  # with no help of the tests
        work["PATH"] = _path()
    Reader(work, tmp_path).read(page)


def test_backup_page_runs_with_a_directory_of_its_own(work: dict[str, str], tmp_path: Path) -> None:
    alone = work | {"MNEMIC_DATA_DIR": str(tmp_path / "data"), "MNEMIC_SCHEMA": "mnemic"}
    out = Reader(alone, tmp_path).read(ROOT / "docs" / "howto" / "backup.md")
    assert "The lighthouse is white" in out[-1]


def test_openai_page_runs_against_a_scripted_endpoint(work: dict[str, str], tmp_path: Path) -> None:
    with serving(_endpoint) as server:
        key = "k" + "-docs"
        given = {"ENDPOINT_URL": server.url, "ENDPOINT_HOST": server.host, "ENDPOINT_KEY": key}
        out = Reader(work | given, tmp_path).read(ROOT / "docs" / "howto" / "openai-compatible.md")
    assert any("text-embedding-3-small" in text for text in out)
    assert any("I keep bees behind the house" in text for text in out)
    _only_these_paths(server)


def test_page_about_changing_the_model_runs_against_a_scripted_endpoint(
    work: dict[str, str], tmp_path: Path
) -> None:
    with serving(_endpoint) as server:
        key = "k" + "-docs"
        given = {"ENDPOINT_URL": server.url, "ENDPOINT_HOST": server.host, "ENDPOINT_KEY": key}
        reader = Reader(work | given, tmp_path)
        out = reader.read(ROOT / "docs" / "howto" / "change-the-embedder.md")
    assert any("1 vector is of text-embedding-3-small" in text for text in out)
    assert any("The lighthouse is white" in text for text in out)
    assert any("my-model" in text and "key      set" in text for text in out)
    assert {request.path for request in server.requests} == {"/v1/embeddings"}


def test_own_postgresql_page_runs_on_a_server_with_passwords(
    home: Path, work: dict[str, str], tmp_path: Path
) -> None:
    with _somebody_elses_server(home) as urls:
        given = work | urls | {"MNEMIC_SCHEMA": "mnemic"}
        del given["MNEMIC_DATA_DIR"]
        reader = Reader(given, tmp_path, between=_rename_in_script)
        out = reader.read(ROOT / "docs" / "howto" / "own-postgresql.md")
        assert "The lighthouse is white" in out[-1]
        for block in blocks(ROOT / "docs" / "howto" / "backup.md"):
            if "own-server" in block.marks:
                reader.bash(block)
        assert (reader.place / "mnemic.dump").stat().st_size > 1000
        refused = reader.run('MNEMIC_DATABASE_URL="$MNEMIC_MIGRATION_URL" mnemic list')
        assert "[service_login_too_powerful]" in refused.stdout


class Reader:
    """Does what a page says, from top to bottom."""

    def __init__(
        self, env: dict[str, str], home: Path, between: Callable[[Path], None] | None = None
    ) -> None:
        self.env = env
        self.place = home / "work"
        self.place.mkdir()
        self.last_id = ""
        self._between = between

    def read(self, page: Path) -> list[str]:
        """Run the blocks and return what each printed."""
        printed = []
        for block in _to_run(page):
            printed.append(getattr(self, block.language)(block))
            if self._between is not None:
                self._between(self.place)
        return printed

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command; what it printed is in ``stdout``."""
        return subprocess.run(
            ["bash", "-uc", command],
            cwd=self.place,
            env=self.env,
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )

    def bash(self, block: Block) -> str:
        done = self.run("set -e\n" + block.text)
        assert done.returncode == 0, f"{block.page}:{block.line}\n{done.stdout}"
        return done.stdout

    def python(self, block: Block) -> str:
        script = self.place / "example.py"
        script.write_text(block.text, encoding="utf-8")
        python = shutil.which("python-forked", path=self.env["PATH"]) or sys.executable
        done = self.run(f"'{python}' -W error::DeprecationWarning example.py")
        assert done.returncode == 0, f"{block.page}:{block.line}\n{done.stdout}"
        return done.stdout

    def console(self, block: Block) -> str:
        printed = ""
        for command, expected in _dialogue(block.text):
            done = self.run(re.sub(r"\bID\b", self.last_id, command))
            where = f"{block.page}:{block.line} $ {command}\n{done.stdout}"
            assert done.returncode == 0, where
            assert _matches(expected, done.stdout.splitlines()), where
            if not re.search(r"\bID\b", command) and (ids := _UUID.findall(done.stdout)):
                self.last_id = ids[-1]
            printed += done.stdout
        return printed


def _dialogue(text: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        yield command, expected


def _matches(expected: list[str], lines: list[str]) -> bool:
    """Whether the expected lines come in this order; runs of spaces count as one."""
    rest = iter(" ".join(line.split()) for line in lines)
    patterns = (
        ".*".join(map(re.escape, " ".join(line.split()).split("…")))
        for line in expected
        if line != "…"
    )
    return all(any(re.fullmatch(pattern, line) for line in rest) for pattern in patterns)


def _help(command: list[str]) -> str:
    done = forked.run(["mnemic", *command, "--help"], os.environ | {"COLUMNS": "200"}, ROOT)
    assert done.returncode == 0
    return done.stdout.decode()


def _endpoint(request: Request) -> Answer:
    """An embeddings and chat endpoint that remembers bees."""
    if request.path.endswith("/embeddings"):
        rows = [vector(text) for text in request.body["input"]]
        data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
        return Answer(body={"object": "list", "data": data, "model": "scripted"})
    item = {
        "content": "I keep bees behind the house",
        "memory_type": "habit",
        "scope": "user",
        "confidence": 0.9,
        "turns": [1],
    }
    message = {"role": "assistant", "content": json.dumps({"memories": [item]})}
    return Answer(body={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def _only_these_paths(server: Scripted) -> None:
    assert {request.path for request in server.requests} == {
        "/v1/embeddings",
        "/v1/chat/completions",
    }
    assert all(request.headers["authorization"] == "Bearer k-docs" for request in server.requests)


@contextmanager
def _somebody_elses_server(home: Path) -> Iterator[dict[str, str]]:
    """The server of this run as one with an administrator and passwords, and nothing of ours in it."""
    joined = join(home / "data")
    admit = "local app app_owner,app_service scram-sha-256\n"
    hba = home / "data" / "postgres" / "pg_hba.conf"
    before = hba.read_text(encoding="utf-8")
    hba.write_text(admit + before, encoding="utf-8")
    _execute(joined, "select pg_reload_conf()")
    secrets_ = {"OWNER_PASSWORD": uuid4().hex, "SERVICE_PASSWORD": uuid4().hex}

    def url(user: str, password: str) -> str:
        return make_conninfo(
            host=str(joined.socket_dir), dbname="app", user=user, password=password
        )

    try:
        yield secrets_ | {
            "PATH": _path(nursery().bin, wheel().bin),
            "ADMIN_URL": joined.url("bootstrap"),
            "MNEMIC_MIGRATION_URL": url("app_owner", secrets_["OWNER_PASSWORD"]),
            "MNEMIC_DATABASE_URL": url("app_service", secrets_["SERVICE_PASSWORD"]),
        }
    finally:
        _execute(joined, "drop database if exists app with (force)")
        for role in ("app_owner", "app_service"):
            _execute(joined, f"drop role if exists {role}")
        hba.write_text(before, encoding="utf-8")
        _execute(joined, "select pg_reload_conf()")
        joined.leave()


def _execute(joined: Joined, statement: Any) -> None:
    with psycopg.connect(joined.url("bootstrap"), autocommit=True) as conn:
        conn.execute(statement)


def _rename_in_script(place: Path) -> None:
    """This server has roles and a database of our usual names already."""
    script = place / "roles.sql"
    text = script.read_text(encoding="utf-8")
    for old, new in (
        ("mnemic_owner", "app_owner"),
        ("mnemic_service", "app_service"),
        ("DATABASE mnemic", "DATABASE app"),
        ("connect mnemic", "connect app"),
    ):
        text = text.replace(old, new)
    script.write_text(text, encoding="utf-8")


def test_the_architecture_shows_the_layers_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    page = next(b for b in blocks(ROOT / "ARCHITECTURE.md") if b.language == "")
    assert page.text.splitlines() == contract["layers"]
