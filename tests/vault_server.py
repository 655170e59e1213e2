"""What stands in for HashiCorp Vault in tests: a loopback server with the part of transit that is used.

It is no Vault: it keeps keys in memory, speaks HTTP, and can be sealed, slow, broken or out of its mind.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TOKEN = "loopback-" + "token"


@dataclass
class FakeVault:
    """The state of the server; tests change it while it runs."""

    token: str = TOKEN
    namespace: str | None = None
    mount: str = "transit"
    sealed: bool = False
    failures: int = 0
    delay: float = 0.0
    keys: dict[str, bytes] = field(default_factory=dict)
    deletable: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str, headers: Any, body: Any) -> tuple[int, Any]:
        """Answer as Vault's transit engine does."""
        self.calls.append(f"{method} {path}")
        time.sleep(self.delay)
        if self.sealed:
            return 503, {"errors": ["Vault is sealed"]}
        if self.failures:
            self.failures -= 1
            return 500, {"errors": ["internal error"]}
        right = headers.get("X-Vault-Token") == self.token
        if not right or headers.get("X-Vault-Namespace") != self.namespace:
            return 403, {"errors": ["permission denied"]}
        found = re.fullmatch(rf"/v1/{self.mount}/(keys|encrypt|decrypt)/?([\w.-]*)(/config)?", path)
        if found is None:
            return 404, {"errors": ["no handler for route"]}
        with self.lock:
            return self._engine(method, found[1], found[2], bool(found[3]), body)

    def _engine(
        self, method: str, what: str, name: str, config: bool, body: Any
    ) -> tuple[int, Any]:
        if method == "LIST":
            return (
                (200, {"data": {"keys": sorted(self.keys)}}) if self.keys else (404, {"errors": []})
            )
        if what == "keys":
            return self._key(method, name, config, body)
        if name not in self.keys and what == "encrypt":
            # as Vault does where the policy allows it
            kind = body.get("type", "aes256-gcm96")
            if kind != "aes256-gcm96":
                return 400, {"errors": [f"unknown key type {kind}"]}
            self.keys[name] = os.urandom(32)
        if name not in self.keys:
            return 400, {"errors": ["encryption key not found"]}
        cipher = AESGCM(self.keys[name])
        at = base64.b64decode(body.get("associated_data", ""))
        if what == "encrypt":
            nonce = os.urandom(12)
            sealed = nonce + cipher.encrypt(nonce, base64.b64decode(body["plaintext"]), at)
            text = base64.b64encode(sealed).decode()
            return 200, {"data": {"ciphertext": f"vault:v1:{text}"}}
        try:
            raw = base64.b64decode(body["ciphertext"].removeprefix("vault:v1:"), validate=True)
            plain = cipher.decrypt(raw[:12], raw[12:], at)
        except (binascii.Error, InvalidTag, ValueError):
            return 400, {"errors": ["cipher: message authentication failed"]}
        return 200, {"data": {"plaintext": base64.b64encode(plain).decode()}}

    def _key(self, method: str, name: str, config: bool, body: Any) -> tuple[int, Any]:
        if config:
            if body.get("deletion_allowed"):
                self.deletable.add(name)
            return 204, None
        if method == "DELETE":
            if name not in self.deletable:
                return 400, {"errors": ["deletion is not allowed for this key"]}
            self.keys.pop(name, None)
            return 204, None
        self.keys.setdefault(name, os.urandom(32))
        return 204, None


@contextmanager
def fake_vault() -> Iterator[FakeVault]:
    """A running server; ``url`` tells where."""
    vault = FakeVault()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(vault))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    vault.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield vault
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(vault: FakeVault) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            status, value = vault.answer(
                self.command, self.path, self.headers, json.loads(raw) if raw else {}
            )
            text = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = do_LIST = _serve

        def handle(self) -> None:
            try:
                super().handle()
            except (BrokenPipeError, ConnectionResetError):
                return  # a client that waited long enough

        def log_message(self, *args: object) -> None:
            return

    return Handler
