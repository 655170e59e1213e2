"""Do processes share one embedded server, and does the next one find it, come what may?"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from mnemic.errors import ConfigurationError
from mnemic.storage import accounts, embedded, postmaster
from mnemic.storage.embedded import Joined, join

USER = """
import sys
from pathlib import Path
from mnemic.storage import postmaster
from mnemic.storage.embedded import join
data_dir = Path(sys.argv[1])
joined = join(data_dir)
print(postmaster.read(data_dir / "postgres").pid, flush=True)
sys.stdin.read()
"""

FORKING = """
import os, sys
from pathlib import Path
from mnemic.storage import postmaster
from mnemic.storage.embedded import join
data_dir = Path(sys.argv[1])
joined = join(data_dir)
if os.fork() == 0:
    joined.leave()
    sys.exit()
os.wait()
print(postmaster.find(data_dir / "postgres") == joined.socket_dir, flush=True)
"""


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"
    postmaster.stop(tmp_path / "data" / "postgres")


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


def server_pid(data_dir: Path) -> int:
    known = postmaster.read(data_dir / "postgres")
    assert known is not None
    return known.pid


def is_running(data_dir: Path) -> bool:
    return postmaster.find(data_dir / "postgres") is not None


def ask(joined: Joined, statement: str) -> object:
    with psycopg.connect(joined.url("owner"), autocommit=True) as conn:
        cursor = conn.execute(statement.encode())
        return cursor.fetchone() if cursor.description else None


def test_first_start_later_start_and_joining_are_quick(data_dir: Path) -> None:
    for what in ("first start", "later start"):
        begun = time.perf_counter()
        joined = join(data_dir)
        started = time.perf_counter()
        join(data_dir).leave()
        print(f"{what} {started - begun:.3f} s, joining {time.perf_counter() - started:.4f} s")
        assert ask(joined, "select '[1,2]'::vector::text") == ("[1,2]",)
        joined.leave()


def test_three_processes_that_start_at_once_share_one_server(data_dir: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(user(data_dir)) for _ in range(3)]
        pids = {told(process) for process in users}
        assert len(pids) == 1
        for process in users[:2]:
            dismiss(process)
        assert is_running(data_dir)
        assert {str(server_pid(data_dir))} == pids
        dismiss(users[2])
        assert not is_running(data_dir)


def test_a_killed_user_leaves_a_server_that_the_next_one_joins_and_stops(data_dir: Path) -> None:
    with user(data_dir) as process:
        pid = int(told(process))
        process.kill()
        process.wait()
    joined = join(data_dir)
    assert server_pid(data_dir) == pid
    joined.leave()
    assert not is_running(data_dir)


def test_a_killed_server_is_replaced_and_keeps_what_was_committed(data_dir: Path) -> None:
    first = join(data_dir)
    ask(first, "create table kept (n int)")
    ask(first, "insert into kept values (7)")
    pid = server_pid(data_dir)
    os.kill(pid, signal.SIGKILL)
    second = join(data_dir)
    assert server_pid(data_dir) != pid
    assert ask(second, "select n from kept") == (7,)
    first.leave()
    assert is_running(data_dir)
    second.leave()
    assert not is_running(data_dir)


def test_a_process_id_that_went_to_a_stranger_does_not_stop_a_start(data_dir: Path) -> None:
    joined = join(data_dir)
    lock_file = data_dir / "postgres" / "postmaster.pid"
    pid, text = server_pid(data_dir), lock_file.read_text()
    owner = lock_file.stat()
    joined.leave()
    as_owner = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "60"], cwd="/", **as_owner) as stranger:
        lock_file.write_text(text.replace(str(pid), str(stranger.pid), 1))
        lock_file.chmod(0o600)
        os.chown(lock_file, owner.st_uid, owner.st_gid)
        joined = join(data_dir)
        assert ask(joined, "select 1") == (1,)
        joined.leave()
        assert stranger.poll() is None
        stranger.kill()


def test_a_stuck_process_of_a_killed_server_gives_a_clear_error(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "ORPHAN_TIMEOUT", 0.3)
    first = join(data_dir)
    conn = psycopg.connect(first.url("owner"))
    backend = conn.info.backend_pid
    os.kill(backend, signal.SIGSTOP)
    os.kill(server_pid(data_dir), signal.SIGKILL)
    try:
        with pytest.raises(ConfigurationError, match="end the processes") as caught:
            join(data_dir)
        assert caught.value.code == "embedded_start_failed"
    finally:
        os.kill(backend, signal.SIGKILL)
        conn.close()
    again = join(data_dir)
    assert ask(again, "select 1") == (1,)
    again.leave()
    first.leave()


def test_a_server_whose_socket_was_removed_is_started_anew(data_dir: Path) -> None:
    first = join(data_dir)
    (first.socket_dir / ".s.PGSQL.5432").unlink()
    second = join(data_dir)
    assert ask(second, "select 1") == (1,)
    second.leave()
    first.leave()
    assert not is_running(data_dir)


def test_two_joins_of_one_process_count_twice_and_leaving_twice_counts_once(
    data_dir: Path,
) -> None:
    first, second = join(data_dir), join(data_dir)
    first.leave()
    first.leave()
    assert ask(second, "select 1") == (1,)
    second.leave()
    assert not is_running(data_dir)


def test_a_forked_child_that_leaves_does_not_stop_the_server(data_dir: Path) -> None:
    with user(data_dir, FORKING) as process:
        assert told(process) == "True"
        dismiss(process)
    assert not is_running(data_dir)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_server_has_its_own_session_and_none_of_our_files_or_secrets(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_PLANTED", "planted-value")
    joined = join(data_dir)
    pid = server_pid(data_dir)
    assert os.getsid(pid) != os.getsid(0)
    try:
        held = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    except PermissionError:
        pytest.skip("this root may not look at other users' processes")
    assert any("postgres" in name for name in held)
    assert not any(name.endswith(".lock") and "/run/" in name for name in held)
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"LC_ALL=C" in environment
    assert b"planted-value" not in environment
    joined.leave()


def test_a_first_start_that_was_cut_short_is_repaired(data_dir: Path) -> None:
    rubbish = data_dir / "postgres.new-left"
    rubbish.mkdir(parents=True)
    (rubbish / "PG_VERSION").write_text("18")
    joined = join(data_dir)
    assert not rubbish.exists()
    with psycopg.connect(joined.url("bootstrap"), autocommit=True) as conn:
        conn.execute("drop extension vector")
    (data_dir / "postgres" / "mnemic.complete").unlink()
    # Also a process that only joins has to finish the work of a starter that was killed.
    repaired = join(data_dir)
    assert ask(repaired, "select '[1]'::vector::text") == ("[1]",)
    repaired.leave()
    joined.leave()
    rubbish.mkdir()
    join(data_dir).leave()
    assert not rubbish.exists()


def test_waiting_for_a_stuck_starter_ends_with_a_clear_error(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOCK_TIMEOUT", 0.1)
    (data_dir / "run").mkdir(parents=True)
    with open(data_dir / "run" / "start.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ConfigurationError) as caught:
            join(data_dir)
    assert caught.value.code == "embedded_busy"


def test_leaving_after_the_data_directory_is_gone_is_quiet(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    joined = join(data_dir)
    pid = server_pid(data_dir)
    data_dir.rename(tmp_path / "elsewhere")
    joined.leave()
    joined.leave()
    os.kill(pid, signal.SIGINT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_joins_the_server_of_an_ordinary_user_and_leaves_it_to_its_owner(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    os.chown(data_dir, 65534, 65534)
    passage = "-all,+dac_read_search"  # to read the interpreter, wherever it is
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    become += [f"--inh-caps={passage}", f"--ambient-caps={passage}", "--"]
    if subprocess.run([*become, sys.executable, "--version"], check=False).returncode:
        pytest.skip("the interpreter cannot be reached by another user")
    with subprocess.Popen(
        [*become, sys.executable, "-c", USER, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        pid = int(told(process))
        assert Path(f"/proc/{pid}").stat().st_uid in (0, 65534)
        joined = join(data_dir)
        assert server_pid(data_dir) == pid
        assert ask(joined, "select current_user::text") == ("mnemic_owner",)
        dismiss(process)
        assert is_running(data_dir)
        joined.leave()
    assert not is_running(data_dir)
    again = join(data_dir)
    assert accounts.server_account(data_dir / "postgres").uid == 65534
    assert ask(again, "select 1") == (1,)
    again.leave()
    owners = {path.stat().st_uid for path in (data_dir / "run").iterdir()}
    assert owners == {65534}
