"""Do the tools of the Model Context Protocol's own project, written in Node, get along with our servers?"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.program import MNEMIC
from e2e.serving import Place, key_of, place_at
from mnemic import Actor, SyncMemoryService, Turn
from services.conftest import MODULES, require

NODE_MODULES = MODULES / "mcp" / "node_modules"
SAID = ("I take the night train to Vienna every spring", "Yes, I may move to Oslo")
Call = Callable[..., Any]


@dataclass(frozen=True)
class Tool:
    """A program of the folder that `make install-services` fills."""

    name: str
    home: Path

    def __call__(self, *words: str, code: int = 0) -> str:
        """Run it, with nothing of ours around it, and return what it printed."""
        done = subprocess.run(self.command(*words), **self.around, timeout=60, check=False)
        assert done.returncode == code, (done.stdout, done.stderr)
        return str(done.stdout)

    def command(self, *words: str) -> list[str]:
        nodes = sorted(NODE_MODULES.glob("node-linux-*/bin/node"))
        program = NODE_MODULES / ".bin" / self.name
        require(bool(nodes) and program.exists(), self.name)
        return [str(nodes[0]), str(program), *words]

    @property
    def around(self) -> dict[str, Any]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        return {"cwd": self.home, "env": env, "capture_output": True, "text": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A data directory where Mia has said something in session s1 and Noah in his."""
    with place_at(tmp_path_factory.mktemp("node")) as made:
        data = {"data_dir": made.env["MNEMIC_DATA_DIR"], "key_file": made.env["MNEMIC_KEY_FILE"]}
        with SyncMemoryService.open(**data) as memory:
            for user in ("mia", "noah"):
                actor = Actor(user, session="s1")
                memory.sessions.append(actor, [Turn("user", text) for text in SAID])
        yield made


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, place: Place) -> Iterator[dict[str, Any]]:
    """How an MCP client is told of our server: as a command, or as an address with a key."""
    if request.param == "stdio":
        words = ["mcp", "--user", "mia", "--session", "s1"]
        yield {"command": str(MNEMIC), "args": words, "env": place.env}
        return
    key = key_of(place, "--user", "noah")
    headers = {"Authorization": f"Bearer {key}", "Mnemic-Session": "s1"}
    with place.served(MNEMIC_CONSENT="implied") as service:
        url = f"{service.told['url']}/mcp"
        yield {"type": "streamable-http", "url": url, "headers": headers}


@pytest.fixture
def inspect(server: dict[str, Any], tmp_path: Path) -> Call:
    """The inspector's command line on a server: a method of the protocol, and words for it."""
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"mnemic": server}}))
    inspector = Tool("mcp-inspector", tmp_path)

    def ask(method: str, *words: str, code: int = 0) -> Any:
        where = ["--cli", "--config", str(file), "--server", "mnemic", "--method", method]
        told = inspector(*where, "--format", "json", "--quiet", *words, code=code)
        return json.loads(told)["result"]

    return ask


def use_memories(call: Call) -> None:
    """Take memories through their life."""
    added = call("memory_add", content=SAID[0], quote=SAID[0])
    assert added["verdict"] == "stored"
    waiting = call("memory_add", content="The user may move to Oslo")
    assert waiting["verdict"] == "pending"
    confirmed = call("memory_confirm", id=waiting["id"], quote=SAID[1])
    assert confirmed["verdict"] == "stored"
    (hit, *_) = call("memory_search", query="night train to Vienna", k=3)["hits"]
    assert hit["memory"]["id"] == added["id"]
    assert "Vienna" in call("memory_context", query="How do I get to Vienna?")["text"]
    assert call("memory_list", limit=10)["total"] == 2
    assert call("memory_profile")["project"] is None
    newer = "I take the night train to Vienna every autumn"
    assert call("memory_edit", id=added["id"], content=newer)["verdict"] == "stored"
    assert call("memory_delete", id=added["id"])["count"] == 2


def use_tasks(call: Call) -> None:
    """Take a task through its life."""
    task = call("task_create", task_type="data_approval", state_data={"rows": 3})
    at = {"id": task["task_id"]}
    assert call("task_fail", **at, reason="no access")["status"] == "failed"
    call("task_advance", **at, to=task["current_step"])
    call("task_advance", **at)
    waits = call("task_advance", **at, data={"rows": 4})
    assert call("task_show", **at) == waits
    done = call("task_complete", **at)
    assert (done["status"], done["state_data"]) == ("completed", {"rows": 4})
    assert call("task_list", task_type="data_approval")["total"] == 1


def test_the_inspector_lists_and_calls_every_tool(inspect: Call) -> None:
    called: set[str] = set()

    def call(tool: str, **arguments: Any) -> Any:
        called.add(tool)
        words = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        answer = inspect("tools/call", *words)
        assert not answer["isError"], answer
        return answer["structuredContent"]

    # on stdio each call starts a server: two at once
    with ThreadPoolExecutor(2) as threads:
        working = [threads.submit(use, call) for use in (use_memories, use_tasks)]
        listed = {tool["name"] for tool in inspect("tools/list", "--strict")["tools"]}
        for one in working:
            one.result()
    assert called == listed
    assert len(listed) >= 14


def test_the_inspector_reads_resources_and_shows_refusals(inspect: Call) -> None:
    templates = inspect("resources/templates/list")["resourceTemplates"]
    assert len(templates) == 3
    (read,) = inspect("resources/read", "--uri", "mnemic://sessions/s1")["contents"]
    assert [turn["content"] for turn in json.loads(read["text"])["turns"]] == list(SAID)
    words = ("--tool-name", "memory_search", "--tool-args-json", '{"query": " "}')
    refused = inspect("tools/call", *words, code=5)
    assert refused["isError"]
    assert "[blank_query]" in refused["content"][0]["text"]


# ---- the conformance suite

APPLIES = {
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
}
OTHER_TOOL = "calls a tool of the suite's own server, which does what no tool of ours does: "
OTHER_RESOURCE = "reads a test:// resource of the suite's own server"
NO_PROMPTS = "we offer no prompts: what is known comes as tools and resources"
NO_SESSIONS = (
    "we keep no sessions, so that any worker answers any request: no stream is taken up again"
)
NOT_OURS = {
    "logging-set-level": "we send no log messages to clients: they would say what is known of users",
    "completion-complete": "we complete no arguments",
    "tools-call-image": OTHER_TOOL + "it answers with an image",
    "tools-call-audio": OTHER_TOOL + "it answers with sound",
    "tools-call-embedded-resource": OTHER_TOOL + "it answers with a resource",
    "tools-call-mixed-content": OTHER_TOOL + "it answers with an image and a resource",
    "tools-call-with-logging": OTHER_TOOL + "it logs to the client",
    "tools-call-with-progress": OTHER_TOOL + "it takes long enough to tell how far it is",
    "tools-call-sampling": OTHER_TOOL + "it asks the client's model",
    "tools-call-elicitation": OTHER_TOOL + "it asks the client's user",
    "elicitation-sep1034-defaults": OTHER_TOOL + "it asks the client's user",
    "elicitation-sep1330-enums": OTHER_TOOL + "it asks the client's user",
    "json-schema-2020-12": OTHER_TOOL + "it has a schema with definitions",
    "server-sse-polling": NO_SESSIONS,
    "server-sse-multiple-streams": NO_SESSIONS,
    "resources-read-text": OTHER_RESOURCE,
    "resources-read-binary": OTHER_RESOURCE,
    "resources-templates-read": OTHER_RESOURCE,
    "resources-subscribe": "we tell nobody of changes: a client reads again",
    "resources-unsubscribe": "we tell nobody of changes: a client reads again",
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
}
BY_ANY_NAME = {"dns-rebinding-protection": "it is called by whatever name its operator gives it"}


@contextmanager
def with_key(url: str, key: str) -> Iterator[str]:
    """An address that adds a key to what it passes on: the suite can send none."""

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            left_out = ("connection", "transfer-encoding")
            headers = {n: v for n, v in self.headers.items() if n.lower() not in left_out}
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            onward = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
            headers["Authorization"] = f"Bearer {key}"
            onward.request(self.command, self.path, body, headers)
            answer = onward.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in left_out:
                    self.send_header(name, value)
            self.end_headers()
            with suppress(http.client.IncompleteRead, ConnectionError):  # one side has hung up
                while some := answer.read1(65_536):
                    self.wfile.write(some)
            onward.close()

        do_GET = do_DELETE = do_POST

        def log_message(self, *told: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()


@contextmanager
def served_by_mcp(place: Place) -> Iterator[tuple[str, str]]:
    """The address and the key of ``mnemic mcp --http``."""
    command = [str(MNEMIC), "mcp", "--http", "--port", "0", "--json"]
    with subprocess.Popen(
        command, env=place.env, cwd=place.home, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            yield told["url"], told["key"]
        finally:
            process.terminate()
    assert process.returncode == 0


@contextmanager
def served_by_serve(place: Place) -> Iterator[tuple[str, str]]:
    """The address of ``mnemic serve``, and a key."""
    key = key_of(place, "--user", "kim")
    with place.served(MNEMIC_CONSENT="implied") as service:
        yield f"{service.told['url']}/mcp", key


@pytest.mark.parametrize(
    ("serving", "not_ours"),
    [(served_by_mcp, NOT_OURS), (served_by_serve, NOT_OURS | BY_ANY_NAME)],
    ids=["mcp --http", "serve"],
)
def test_the_conformance_suite_passes_where_it_applies(
    serving: Any, not_ours: dict[str, str], place: Place, tmp_path: Path
) -> None:
    suite = Tool("conformance", tmp_path)
    (tmp_path / "expected.yml").write_text(json.dumps({"server": sorted(not_ours)}))
    with serving(place) as (url, key), with_key(url, key) as address:
        where = ["--url", address, "--suite", "all", "--output-dir", "results"]
        # it fails when another scenario fails, and when one of these passes
        suite("server", *where, "--expected-failures", "expected.yml")
    told: dict[str, list[str]] = {}
    for file in (tmp_path / "results").glob("server-*/checks.json"):
        scenario = file.parent.name.removeprefix("server-").rpartition("-202")[0]
        told[scenario] = [check["status"] for check in json.loads(file.read_text())]
    assert told.keys() == APPLIES | NOT_OURS.keys()
    passed = {name for name, found in told.items() if "SUCCESS" in found and "FAILURE" not in found}
    assert passed == told.keys() - not_ours.keys()
