"""Who signs the tokens of these tests? Keys of every kind, made once a run, and an issuer over HTTP."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

ISSUER, AUDIENCE = "https://issuer.example", "mnemic-tests"


@cache
def private_key(kind: str = "RS256") -> Any:
    """Return a private key; "other" is an RSA key that nobody trusts, "short" one of 1024 bits."""
    if kind == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    if kind == "ES384":
        return ec.generate_private_key(ec.SECP384R1())
    if kind == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(
        public_exponent=65537, key_size=1024 if kind == "short" else 2048
    )


def pem(kind: str = "RS256") -> bytes:
    """Return a public key as PEM."""
    public = private_key(kind).public_key()
    found: bytes = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return found


def private_pem(kind: str = "RS256") -> bytes:
    found: bytes = private_key(kind).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return found


def claims(**changes: Any) -> dict[str, Any]:
    """Return good claims with changes; None takes one away."""
    now = int(time.time())
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "kim", "iat": now, "exp": now + 300}
    return {name: value for name, value in (good | changes).items() if value is not None}


def token(
    payload: dict[str, Any] | None = None,
    *,
    algorithm: str = "RS256",
    key: Any = None,
    headers: dict[str, Any] | None = None,
    **changes: Any,
) -> str:
    """Return a signed token: good unless told otherwise."""
    signing = (
        private_key("RS256" if algorithm.startswith(("RS", "PS")) else algorithm)
        if key is None
        else key
    )
    return jwt.encode(payload or claims(**changes), signing, algorithm=algorithm, headers=headers)


def encoded(value: object) -> str:
    """Return bytes, or a value as JSON, in base64url."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(payload: object, header: dict[str, Any] | None = None, algorithm: str = "RS256") -> str:
    """Return a token over any payload at all, which no library would sign."""
    head = {"alg": algorithm, "typ": "JWT"} | (header or {})
    text = f"{encoded(head)}.{encoded(payload)}"
    signature = jwt.get_algorithm_by_name(algorithm).sign(text.encode(), private_key(algorithm))
    return f"{text}.{encoded(signature)}"


def jwk(kind: str = "RS256", **more: Any) -> dict[str, Any]:
    """Return a public key as a JSON Web Key."""
    algorithm = jwt.get_algorithm_by_name(kind if kind not in ("other", "short") else "RS256")
    found: dict[str, Any] = json.loads(algorithm.to_jwk(private_key(kind).public_key()))  # type: ignore[attr-defined]
    return found | more


@dataclass
class Issuer:
    """An issuer whose answer can be changed while it runs; ``asked`` counts."""

    url: str = ""
    asked: int = 0
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0

    def publishes(self, *keys: dict[str, Any]) -> None:
        self.body = json.dumps({"keys": list(keys)}).encode()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(
            sys.exception(), ConnectionError
        ):  # who asked may have given up meanwhile
            super().handle_error(request, client_address)


@contextmanager
def issuer() -> Iterator[Issuer]:
    """An HTTP server on loopback that answers with a key set."""
    told = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked += 1
            time.sleep(told.pause)
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(told.body)))
            self.end_headers()
            self.wfile.write(told.body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/keys.json"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
