"""What would an endpoint do that answers exactly this?

A small HTTP server on 127.0.0.1 that plays scripted replies and keeps what it was asked. It runs in
threads of its own, so that tests may block, hang or change event loops without stopping it.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One scripted reply; ``body`` is sent as JSON unless it is bytes."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: bool = False
    drop: bool = False


@dataclass(frozen=True)
class Request:
    """What the server was sent."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Scripted:
    """A running server: its base URL, its address as an allow-list entry, its requests so far."""

    port: int
    requests: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


Script = Callable[[Request], Answer]


def in_turn(*answers: Answer) -> Script:
    """Play the answers one after the other, the last one for ever."""
    left = list(answers)
    lock = threading.Lock()

    def script(request: Request) -> Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return script


@contextmanager
def serving(script: Script) -> Iterator[Scripted]:
    """Serve ``script`` on a free loopback port; hanging replies end with the block."""
    closing = threading.Event()
    open_sockets: set[socket.socket] = set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    state = Scripted(port=server.server_address[1])
    server.RequestHandlerClass = _handler(script, state, closing, open_sockets)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        for connection in list(open_sockets):
            _shut(connection)
        server.server_close()


def _handler(
    script: Script, state: Scripted, closing: threading.Event, open_sockets: set[socket.socket]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one segment a reply: two would wait 40 ms for the client's delayed ACK

        def setup(self) -> None:
            super().setup()
            open_sockets.add(self.connection)

        def finish(self) -> None:
            open_sockets.discard(self.connection)
            super().finish()

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            names = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, names, json.loads(content))
            state.requests.append(request)
            self.play(script(request))

        def play(self, answer: Answer) -> None:
            if answer.hang or answer.delay:
                closing.wait(30 if answer.hang else answer.delay)
            if answer.hang or answer.drop:
                self.close_connection = True
                _shut(self.connection)
                return
            raw = answer.body if isinstance(answer.body, bytes) else _dump(answer.body)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    return Handler


def _dump(body: object) -> bytes:
    return json.dumps(body).encode()


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def vectors(rows: Iterable[object], *, indexes: Iterable[int] | None = None) -> Answer:
    """An embeddings answer with these vectors, in this order."""
    rows = list(rows)
    places = range(len(rows)) if indexes is None else list(indexes)
    data = [
        {"object": "embedding", "index": place, "embedding": row}
        for place, row in zip(places, rows, strict=True)
    ]
    return Answer(body={"object": "list", "data": data, "model": "scripted"})


def said(text: object) -> Answer:
    """A chat completion whose first choice says ``text``."""
    message = {"role": "assistant", "content": text}
    return Answer(body={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def error(status: int, message: str = "refused", **more: Any) -> Answer:
    """An error answer as OpenAI-compatible servers give it."""
    return Answer(status=status, body={"error": {"message": message, "code": None}}, **more)
