"""Do processes share one embedded Valkey, is it closed to others, and is it there again, come what may?"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from redis import Redis

from mnemic.errors import ConfigurationError
from mnemic.storage import shares, valkey, valkey_process
from mnemic.storage.embedded import join
from mnemic.storage.valkey import JoinedValkey, join_valkey

USER = """
import sys
from pathlib import Path
from redis import Redis
from mnemic.storage.valkey import join_valkey
joined = join_valkey(Path(sys.argv[1]))
print(Redis(unix_socket_path=str(joined.socket)).info("server")["process_id"], flush=True)
sys.stdin.read()
"""
FORKING = """
import os, sys
from pathlib import Path
from redis import Redis
from mnemic.storage.valkey import join_valkey
joined = join_valkey(Path(sys.argv[1]))
if os.fork() == 0:
    joined.leave()
    sys.exit()
os.wait()
print(Redis(unix_socket_path=str(joined.socket)).ping(), flush=True)
"""


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"
    valkey_process.stop(tmp_path / "data" / "run" / "socket")


@contextmanager
def user(data_dir: Path, script: str = USER) -> Iterator[subprocess.Popen[str]]:
    """Run another process that joins, and leaves when its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def dismiss(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0


def client(joined: JoinedValkey) -> Redis:
    return Redis(unix_socket_path=str(joined.socket))


def pid_of(joined: JoinedValkey) -> int:
    with client(joined) as redis:
        return int(redis.info("server")["process_id"])


def is_running(data_dir: Path) -> bool:
    return valkey_process.alive(data_dir / "run" / "socket")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_it_listens_on_a_socket_alone_that_only_its_user_opens(data_dir: Path) -> None:
    os.umask(before := os.umask(0))
    joined = join_valkey(data_dir)
    with client(joined) as redis:
        settings = redis.config_get()
        assert redis.info("server")["tcp_port"] == 0
    assert settings["port"] == "0"
    assert mode(joined.socket) == 0o700
    for place in (data_dir, joined.socket.parent, data_dir / "valkey"):
        assert mode(place) == 0o700, place
    assert mode(data_dir / "run") == (0o711 if os.geteuid() == 0 else 0o700)
    for name in ("valkey.lock", "valkey-users.lock"):
        assert mode(data_dir / "run" / name) == 0o600
    assert mode(data_dir / "valkey" / "server.log") == 0o600
    owner = joined.socket.lstat().st_uid
    assert owner != 0
    assert owner == (data_dir / "valkey").stat().st_uid
    joined.leave()
    os.umask(before)


def test_it_is_a_cache_that_makes_room_and_writes_nothing_down(data_dir: Path) -> None:
    joined = join_valkey(data_dir)
    with client(joined) as redis:
        settings = redis.config_get()
        assert settings["maxmemory"] == str(128 * 1024 * 1024)
        assert settings["maxmemory-policy"] == "allkeys-lru"
        redis.config_set("maxmemory", str(redis.info("memory")["used_memory"] + 1_000_000))
        for number in range(3_000):
            redis.rpush(f"key {number}", b"x" * 1_000)
        assert redis.exists("key 2999")
        assert redis.dbsize() < 3_000  # which ones went is not certain: it looks at a few of them
        with pytest.raises(Exception, match="not allowed"):
            redis.execute_command("DEBUG", "SLEEP", "0")
    files = {path.name for path in (data_dir / "valkey").iterdir()}
    assert files <= {"server.log", "server.log.1", "valkey.pid"}
    assert b"key 2999" not in (data_dir / "valkey" / "server.log").read_bytes()
    joined.leave()
    again = join_valkey(data_dir)
    with client(again) as redis:
        assert redis.dbsize() == 0
    again.leave()


def test_three_processes_that_start_at_once_share_one_server(data_dir: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(user(data_dir)) for _ in range(3)]
        pids = {told(process) for process in users}
        assert len(pids) == 1
        for process in users[:2]:
            dismiss(process)
        assert is_running(data_dir)
        dismiss(users[2])
        assert not is_running(data_dir)


def test_a_killed_starter_leaves_a_server_that_the_next_one_joins_and_stops(data_dir: Path) -> None:
    with user(data_dir) as process:
        pid = int(told(process))
        process.kill()
        process.wait()
    joined = join_valkey(data_dir)
    assert pid_of(joined) == pid
    joined.leave()
    assert not is_running(data_dir)


def test_a_killed_server_is_started_again_by_whoever_notices(data_dir: Path) -> None:
    first, second = join_valkey(data_dir), join_valkey(data_dir)
    pid = pid_of(first)
    os.kill(pid, signal.SIGKILL)
    second.revive()
    assert pid_of(first) != pid
    revived = pid_of(first)
    first.revive()
    assert pid_of(first) == revived
    first.leave()
    assert is_running(data_dir)
    second.leave()
    assert not is_running(data_dir)


def test_a_stuck_server_is_replaced(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey_process, "ANSWER_TIMEOUT", 0.3)
    joined = join_valkey(data_dir)
    pid = pid_of(joined)
    os.kill(pid, signal.SIGSTOP)
    started = time.perf_counter()
    joined.revive()
    assert time.perf_counter() - started < 5
    assert pid_of(joined) != pid
    joined.leave()
    assert not is_running(data_dir)


def test_leaving_twice_counts_once_and_a_forked_child_has_not_joined(data_dir: Path) -> None:
    first, second = join_valkey(data_dir), join_valkey(data_dir)
    first.leave()
    first.leave()
    with client(second) as redis:
        assert redis.ping()
    second.leave()
    assert not is_running(data_dir)
    with user(data_dir, FORKING) as process:
        assert told(process) == "True"
        dismiss(process)
    assert not is_running(data_dir)


def test_it_lives_beside_postgresql_under_the_same_account_and_each_stops_by_itself(
    data_dir: Path,
) -> None:
    postgres, joined = join(data_dir), join_valkey(data_dir)
    assert joined.socket.parent == postgres.socket_dir
    assert joined.socket.lstat().st_uid == (data_dir / "postgres").stat().st_uid
    postgres.leave()
    with client(joined) as redis:
        assert redis.ping()
    postgres = join(data_dir)
    joined.leave()
    assert not is_running(data_dir)
    postgres.leave()


def test_a_long_path_moves_the_socket_and_the_place_goes_with_the_server(tmp_path: Path) -> None:
    data_dir = tmp_path / ("deep" * 30)
    joined = join_valkey(data_dir)
    assert len(os.fsencode(joined.socket)) < 108
    assert joined.url.startswith("unix:///")
    with client(joined) as redis:
        assert redis.ping()
    joined.leave()
    assert not joined.socket.parent.exists()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_it_has_its_own_session_and_none_of_our_secrets(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_PLANTED", "planted-value")
    joined = join_valkey(data_dir)
    pid = pid_of(joined)
    assert os.getsid(pid) != os.getsid(0)
    try:
        assert b"planted-value" not in Path(f"/proc/{pid}/environ").read_bytes()
    except PermissionError:
        pytest.skip("this root may not look at other users' processes")
    finally:
        joined.leave()


def test_a_missing_wheel_a_busy_lock_and_a_bad_directory_are_told(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (data_dir / "run").mkdir(parents=True)
    with open(data_dir / "run" / "valkey.lock", "w") as lock, monkeypatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setattr(shares, "LOCK_TIMEOUT", 0.1)
        with pytest.raises(ConfigurationError) as busy:
            join_valkey(data_dir)
    assert busy.value.code == "embedded_busy"
    assert "Valkey" in busy.value.message
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError) as misplaced:
        join_valkey(tmp_path / "file")
    assert misplaced.value.code == "data_dir_not_a_directory"
    with monkeypatch.context() as patch:
        patch.setattr(valkey_process, "_SETTINGS", {"no-such-setting": "1"})
        with pytest.raises(ConfigurationError) as failed:
            join_valkey(data_dir)
    assert failed.value.code == "embedded_start_failed"
    monkeypatch.setattr(valkey, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as missing:
        join_valkey(data_dir)
    assert missing.value.code == "embedded_not_installed"
