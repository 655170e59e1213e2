"""Does every cold store keep what the protocol promises: a directory, and S3 over HTTP?"""

from __future__ import annotations

import asyncio
import http.server
import os
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.cold import ColdStore
from mnemic.cold.opening import open_cold_store
from mnemic.errors import ConfigurationError, HostNotAllowed, StorageError, StorageUnavailable
from mnemic.settings import Settings
from moto_server import S3, s3_server

NAME = "ab/0123456789abcdef0123456789abcd"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with s3_server() as running:
        yield running


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ColdStore:
    if request.param == "file":
        return opened(cold_store=f"file://{tmp_path}/cold")
    s3: S3 = request.getfixturevalue("s3")
    return opened(**s3.settings(s3.bucket()))


def opened(**given: object) -> ColdStore:
    store = open_cold_store(Settings.read(**given))
    assert store is not None
    assert isinstance(store, ColdStore)
    return store


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000])
async def test_what_was_put_comes_back(store: ColdStore, size: int) -> None:
    data = os.urandom(size)
    await store.put(NAME, data)
    assert await store.get(NAME) == data


async def test_a_lost_object_is_told_by_its_code(store: ColdStore) -> None:
    await store.put("cd" + NAME[2:], b"another")
    with pytest.raises(StorageError) as lost:
        await store.get(NAME)
    assert lost.value.code == "cold_object_lost"
    assert not isinstance(lost.value, StorageUnavailable)


async def test_an_empty_directory_in_the_stores_place_is_no_store_that_lost_everything(
    tmp_path: Path,
) -> None:
    root = tmp_path / "cold"
    store = opened(cold_store=f"file://{root}")
    await store.put(NAME, b"x")
    root.rename(tmp_path / "elsewhere")
    root.mkdir()
    for call in (store.get(NAME), store.delete(NAME)):
        with pytest.raises(StorageUnavailable) as away:
            await call
        assert away.value.code == "cold_store_unreachable"
    root.rmdir()
    (tmp_path / "elsewhere").rename(root)
    assert await store.get(NAME) == b"x"


async def test_what_is_deleted_is_gone_and_may_be_deleted_again(store: ColdStore) -> None:
    await store.put(NAME, b"x")
    await store.delete(NAME)
    await store.delete(NAME)
    with pytest.raises(StorageError):
        await store.get(NAME)


async def test_many_at_once_do_not_mix(store: ColdStore) -> None:
    names = [f"{n:02x}/{n:032x}" for n in range(20)]
    await asyncio.gather(*(store.put(name, name.encode()) for name in names))
    assert await asyncio.gather(*map(store.get, names)) == [name.encode() for name in names]


async def test_files_are_for_this_login_alone(tmp_path: Path) -> None:
    store = opened(cold_store=f"file://{tmp_path}/cold")
    await store.put(NAME, b"x")
    file = tmp_path / "cold" / NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (file.parent, tmp_path / "cold"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_directory_that_went_away_has_lost_nothing(tmp_path: Path) -> None:
    store = opened(cold_store=f"file://{tmp_path}/cold")
    await store.put(NAME, b"x")
    (tmp_path / "cold").rename(tmp_path / "elsewhere")
    with pytest.raises(StorageUnavailable) as away:
        await store.get(NAME)
    assert away.value.code == "cold_store_unreachable"


async def test_a_bucket_that_is_not_there_has_lost_nothing(s3: S3) -> None:
    store = opened(**s3.settings("no-such-bucket"))
    for work in (store.get(NAME), store.put(NAME, b"x")):
        with pytest.raises(StorageUnavailable) as away:
            await work
        assert away.value.code == "cold_store_unreachable"


async def test_a_store_that_hangs_is_waited_for_so_long_and_no_longer(s3: S3) -> None:
    store = opened(**s3.settings(s3.bucket()), cold_timeout=0.5)
    await store.put(NAME, b"x")
    os.kill(s3.process.pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(5):
            with pytest.raises(StorageUnavailable) as away:
                await store.get(NAME)
    finally:
        os.kill(s3.process.pid, signal.SIGCONT)
    assert away.value.code == "cold_store_unreachable"
    assert await opened(**s3.settings(s3.bucket())).delete(NAME) is None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"cold_store": "s3://bucket/p"}, "host_not_allowed"),
        (
            {"cold_store": "s3://bucket/p", "aws_endpoint_url": "https://s3.example"},
            "host_not_allowed",
        ),
        (
            {
                "cold_store": "s3://bucket/p",
                "aws_endpoint_url": "http://s3.example",
                "allowed_hosts": "s3.example",
            },
            "host_not_allowed",  # no TLS
        ),
        (
            {"cold_store": "s3://bucket", "allowed_hosts": "s3.us-east-1.amazonaws.com"},
            "cold_store_credentials",
        ),
        ({"cold_store": "s3://Bad_Bucket"}, "cold_store_invalid"),
        ({"cold_store": "s3://bucket/../other"}, "cold_store_invalid"),
        ({"cold_store": "file://host/x"}, "cold_store_invalid"),
        ({"cold_store": "file:///"}, "cold_store_invalid"),
        ({"cold_store": "file:///proc/no/such"}, "cold_store_unusable"),
        ({"cold_store": "gs://bucket"}, "cold_store_invalid"),
        ({"cold_store": "/var/cold"}, "cold_store_invalid"),
    ],
)
def test_what_may_not_be_used_is_refused_before_a_byte_is_sent(
    given: dict[str, object], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    with pytest.raises(ConfigurationError) as refused:
        open_cold_store(Settings.read(**given))
    assert refused.value.code == code
    assert isinstance(refused.value, HostNotAllowed) == (code == "host_not_allowed")


def test_without_a_setting_there_is_no_store() -> None:
    assert open_cold_store(Settings.read()) is None


class _Trap(http.server.BaseHTTPRequestHandler):
    """Answers every request with what its server was told, and keeps who asked."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(307)
        self.send_header("Location", self.server.leads_to + self.path)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_HEAD = do_DELETE = do_GET

    def log_message(self, *told: object) -> None:
        """Say nothing."""


@pytest.fixture
def traps() -> Iterator[tuple[http.server.ThreadingHTTPServer, http.server.ThreadingHTTPServer]]:
    """An endpoint that leads elsewhere, and where it leads to."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Trap) for _ in range(2)]
    elsewhere = f"http://localhost:{servers[1].server_port}"
    for server in servers:
        server.asked = []  # type: ignore[attr-defined]
        server.leads_to = elsewhere  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield servers[0], servers[1]
    for server in servers:
        server.shutdown()
        server.server_close()


async def test_neither_a_redirect_nor_a_proxy_of_the_environment_leads_elsewhere(
    traps: tuple[http.server.ThreadingHTTPServer, http.server.ThreadingHTTPServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint, elsewhere = traps
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "AWS_ENDPOINT_URL_S3", "AWS_PROXY_URL"):
        monkeypatch.setenv(name, f"http://localhost:{elsewhere.server_port}")
    store = opened(
        cold_store="s3://bucket",
        aws_endpoint_url=f"http://127.0.0.1:{endpoint.server_port}",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        allowed_hosts="127.0.0.1",
    )
    for work in (store.get(NAME), store.put(NAME, b"x"), store.delete(NAME)):
        with pytest.raises(StorageUnavailable):
            await work
    assert endpoint.asked  # type: ignore[attr-defined]
    assert elsewhere.asked == []  # type: ignore[attr-defined]
