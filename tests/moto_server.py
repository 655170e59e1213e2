"""An S3 that is a process of its own, spoken to over HTTP: moto's server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

PATIENCE = 30.0
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class S3:
    """Where the server is, and a bucket of it."""

    endpoint: str
    process: subprocess.Popen[bytes]

    def bucket(self) -> str:
        """Make a bucket and return its name."""
        name = f"cold-{uuid4().hex[:12]}"
        self.ask("PUT", f"/{name}")
        return name

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Send one request, as whoever, and return the body of the answer."""
        signed = f"AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/s3/aws4_request"
        headers = {"authorization": f"{signed}, SignedHeaders=host, Signature=0"}
        request = urllib.request.Request(
            self.endpoint + path, data=body, method=method, headers=headers
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return bytes(answer.read())

    def settings(self, bucket: str) -> dict[str, object]:
        """Return the settings that lead to a bucket."""
        return {
            "cold_store": f"s3://{bucket}/mnemic",
            "aws_endpoint_url": self.endpoint,
            "aws_region": REGION,
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
            "allowed_hosts": "127.0.0.1",
        }


@contextmanager
def s3_server() -> Iterator[S3]:
    """Run the server until left."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _answering(endpoint, process)
        yield S3(endpoint, process)
    finally:
        process.kill()
        process.wait()


def _answering(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        with suppress(OSError):
            urllib.request.urlopen(endpoint + "/moto-api/", timeout=1).close()
            return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")
