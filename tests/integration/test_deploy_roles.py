"""Do the logins of the compose file come out as the service wants them? On a real server, renamed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from conftest import Server
from mnemic.storage.cluster import wheel

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMES = {
    "mnemic_owner": "shop_owner",
    "mnemic_service": "shop_service",
    "DATABASE mnemic": "DATABASE shop",
    "connect mnemic": "connect shop",
}


@pytest.fixture
def made(server: Server, tmp_path: Path) -> Iterator[psycopg.Connection]:
    """What the script made, seen by the administrator in the new database."""
    subprocess.run([DEPLOY / "make-secrets.sh", tmp_path / "secrets"], check=True)
    script = (DEPLOY / "postgres" / "10-roles.sh").read_text(encoding="utf-8")
    for ours, other in NAMES.items():
        script = script.replace(ours, other)
    place = conninfo_to_dict(server.superuser)
    env = {
        "PATH": f"{wheel().bin}{os.pathsep}{os.environ['PATH']}",
        "PGHOST": str(place["host"]),
        "POSTGRES_USER": str(place["user"]),
        "SECRETS_DIR": str(tmp_path / "secrets"),
    }
    try:
        subprocess.run(["sh", "-c", script], env=env, check=True, capture_output=True, text=True)
        with psycopg.connect(server.superuser, dbname="shop", autocommit=True) as conn:
            yield conn
    finally:
        with psycopg.connect(server.superuser, autocommit=True) as conn:
            conn.execute("drop database if exists shop with (force)")
            for role in ("shop_owner", "shop_service"):
                conn.execute(f"drop role if exists {role}".encode())


def test_the_script_makes_two_logins_and_a_database_that_others_cannot_enter(
    made: psycopg.Connection, tmp_path: Path
) -> None:
    roles = made.execute(
        "select rolname, rolcanlogin, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb,"
        " rolpassword like 'SCRAM-SHA-256$%' from pg_authid where rolname like 'shop%' order by 1"
    ).fetchall()
    assert roles == [("shop_owner", True, False, True), ("shop_service", True, False, True)]
    rights = made.execute(
        "select r, has_database_privilege(r, 'shop', 'connect'), has_database_privilege(r, 'shop', 'create'),"
        " has_database_privilege(r, 'shop', 'temporary') from unnest(array['shop_owner', 'shop_service',"
        " 'mnemic_service']) r"
    ).fetchall()
    assert rights == [
        ("shop_owner", True, True, True),
        ("shop_service", True, False, False),
        ("mnemic_service", False, False, False),
    ]
    assert made.execute(
        "select count(*) from pg_extension where extname = 'vector'"
    ).fetchone() == (1,)
    assert made.execute(
        "select has_schema_privilege('shop_service', 'public', 'create')"
    ).fetchone() == (False,)
