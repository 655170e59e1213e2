"""How is serving prepared, before any process serves?"""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

from mnemic.access.apikeys import LocalKey
from mnemic.cli.serve import _require_posix, serving_settings
from mnemic.cli.supervisor import listen, url_of
from mnemic.cli.worker import Plan
from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.settings import Settings

HEAVY = {
    "fastapi",
    "starlette",
    "uvicorn",
    "jwt",
    "limits",
    "redis",
    "prometheus_client",
    "psycopg",
}


def test_a_plan_survives_the_pipe() -> None:
    local = LocalKey("aaaaaaaa", bytes(range(32)), "金")
    settings = {"data_dir": "/x y", "pool_size": 3, "consent": "required"}
    plan = Plan(7, 8, 2, 4, settings, local, True)
    line = plan.to_json()
    assert "\n" not in line
    assert Plan.from_json(line) == plan
    assert Plan.from_json(Plan(1, 3, 1, 1, {}).to_json()) == Plan(1, 3, 1, 1, {})
    assert json.loads(line)["local"].keys() == {"prefix", "secret_mac", "user"}  # no secret


def test_consent_is_required_of_a_service_and_implied_for_one_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert serving_settings(Settings.read(), local=False).consent == "required"
    assert serving_settings(Settings.read(), local=True).consent == "implied"
    monkeypatch.setenv("MNEMIC_CONSENT", "implied")
    assert serving_settings(Settings.read(), local=False).consent == "implied"
    monkeypatch.setenv("MNEMIC_CONSENT", "required")
    assert serving_settings(Settings.read(), local=True).consent == "required"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.10"])
def test_loopback_is_listened_on(host: str) -> None:
    with listen(host, 0, loopback_only=True) as opened:
        assert url_of(opened).startswith("http://")
        port = opened.getsockname()[1]
        assert url_of(opened).endswith(f":{port}")
        with socket.create_connection(opened.getsockname()[:2], 1):
            assert opened.get_inheritable()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "255.255.255.255"])
def test_nothing_else_is_loopback(host: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        listen(host, 0, loopback_only=True)
    assert caught.value.code == "local_is_loopback_only"


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "x" * 300, "a..b"])
def test_an_address_that_is_not_ours_is_said_to_be(host: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        listen(host, 0, loopback_only=False)
    assert caught.value.code == "address_unusable"


def test_pf_141_where_it_cannot_run_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.cli.serve.sys.platform", "win32")
    with pytest.raises(ConfigurationError) as caught:
        _require_posix()
    assert caught.value.code == "serve_unsupported_platform"
    assert "WSL" in caught.value.message


def test_pf_140_help_loads_nothing_of_the_service() -> None:
    script = (
        "import sys, mnemic.cli.main as main; main.application();"
        f" print(sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
