"""Does the page about encryption list every column as what it is?"""

from __future__ import annotations

import re
from pathlib import Path

from conftest import Connect
from mnemic.deployment import Deployment
from mnemic.storage.migrate import private_schema

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "encryption.md"
_ROW = re.compile(r"^\| `([a-z_]+)\.([a-z0-9_]+)` \| (\w+) \| (.+) \|$", re.MULTILINE)


def described() -> dict[tuple[str, str], str]:
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len({(table, column) for table, column, _, _ in rows}) == len(rows)
    assert all(reason.strip() for _, _, _, reason in rows)
    return {(table, column): kind for table, column, kind, _ in rows}


async def columns(connect: Connect, schema: str) -> dict[tuple[str, str], str]:
    owner = await connect("owner")
    found = await owner.execute(
        "select table_name, column_name, udt_name from information_schema.columns"
        " where table_schema = any(%s) and not (select relispartition from pg_class"
        " where oid = format('%%I.%%I', table_schema, table_name)::regclass)",
        [[schema, private_schema(schema)]],
    )
    return {
        (row["table_name"], row["column_name"]): row["udt_name"] for row in await found.fetchall()
    }


async def test_the_page_lists_exactly_the_columns_of_the_database(
    deployment: Deployment, connect: Connect, schema: str
) -> None:
    assert set(described()) == set(await columns(connect, schema))


async def test_sealed_and_keyed_columns_are_those_of_their_types_and_names(
    deployment: Deployment, connect: Connect, schema: str
) -> None:
    kinds = described()
    assert set(kinds.values()) == {"sealed", "HMAC", "clear"}
    for (table, column), kind in (await columns(connect, schema)).items():
        said = kinds[table, column]
        if column.endswith("_enc") or column in ("wrapped", "kek_check", "blob"):
            assert (said, kind) == ("sealed", "bytea"), column
        elif column.endswith("_mac") or column == "slots" or kind == "tsvector":
            assert said == "HMAC", column
        else:
            assert said == "clear", column
            assert kind != "bytea", column


async def test_free_text_in_clear_columns_is_limited_to_ids_and_codes(
    deployment: Deployment, connect: Connect, schema: str
) -> None:
    clear_text = {
        f"{table}.{column}"
        for (table, column), kind in (await columns(connect, schema)).items()
        if kind in ("text", "varchar", "json", "jsonb") and described()[table, column] == "clear"
    }
    ids = {name for name in clear_text if name.endswith(("_id", ".scope_key"))}
    assert clear_text - ids == {
        "api_key.prefix", "api_key.kind", "idempotency_key.state",
        "checkpoint_blobs.channel", "checkpoint_blobs.checkpoint_ns", "checkpoint_blobs.type",
        "checkpoint_blobs.version", "checkpoint_writes.channel", "checkpoint_writes.checkpoint_ns",
        "checkpoint_writes.task_path", "checkpoint_writes.type", "checkpoints.checkpoint",
        "checkpoints.checkpoint_ns", "checkpoints.metadata", "checkpoints.type",
        "session_state_snapshot.status", "thread.session_scope",
        "chunk.visibility", "project.created_by", "project_member.role", "resource.visibility",
        "task_events.event_type", "task_state.current_step", "task_state.state_data", "task_state.status",
        "task_state.task_type",
        "app_user.remember", "audit_log.action", "audit_log.why", "consent_log.purpose", "consent_log.state",
        "consent_log.via",
        "app_user.status", "embedding_model.name", "embedding_model.calibration", "embedding_settings.stage",
        "memory_item.scope", "memory_item.script", "reembedding.table_name", "reembedding.reason",
        "memory_item.memory_type", "memory_item.source", "memory_item.visibility", "memory_item.status",
        "cold_object.name", "cold_object.sha256", "cold_removal.name", "job_run.name", "job_run.code",
        "job_run.counts",
        "message.role", "profile_history.cause", "resource.kind", "resource.collection",
        "schema_migration.name", "schema_migration.sha256", "session.summary_by",
        "verification.reason", "verification.answer",
    }  # fmt: skip
