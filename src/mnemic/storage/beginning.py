"""With which statement does a transaction begin? One round trip that also says who asks. Pure.

BEGIN, the search path, who asks for row-level security, and the user's status, consent, key epoch,
embedding model and role in the project: all of it local to the transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from psycopg import sql

from mnemic.model import Actor

_BEGIN = (
    "begin; set local search_path = {schema}, {types}; set local mnemic.scopes = {scopes};"
    " set local mnemic.sessions = {sessions}; set local mnemic.actor = {user};"
    " set local mnemic.project = {project};"
    # whoever erases this user waits for us, and we for them: what follows sees the outcome
    " select pg_advisory_xact_lock_shared(hashtextextended({user_scope}, 7));"
)
_WHO = (
    " select u.status, u.key_epoch, u.remember, coalesce(u.model_id, d.model_id) as model_id,"
    " d.model_id as deployment_model_id, case when {project} <> '' then my_role() end as role,"
    " case when {project} <> '' then (select count(*) || ':' || max(key_id::text) from data_key"
    " where scope_key = {project}) end as project_keys"
)
_FROM = " from deployment d left join app_user u on u.scope_key = {user_scope}"
_READER = sql.SQL(_BEGIN + _WHO + _FROM)
_WRITER = sql.SQL(
    _BEGIN
    # what a writer does is planned once a connection, not each time: planning takes longer than the work
    + " set local plan_cache_mode = force_generic_plan;"
    # shared with other writers: whoever changes a model waits for them, and they for it
    " select pg_advisory_xact_lock_shared(hashtextextended('embedding', 0)),"
    " pg_advisory_xact_lock_shared(hashtextextended({model_of}, 0)),"
    " pg_advisory_xact_lock(hashtextextended({written}, 0));"
    + _WHO
    + ", a.seq, a.last_mac, a.head_mac, date_trunc('milliseconds', clock_timestamp()) as at"
    + _FROM
    + " left join audit_chain a on a.chain = {chain}"
)
_SCOPES = sql.SQL(
    "begin; set local search_path = {schema}, {types}; set local mnemic.scopes = {scopes}; select null"
)


def of_actor(schema: str, types: str, actor: Actor, writes: str | None, chain: int) -> sql.Composed:
    """Return the beginning of an actor's transaction; ``types`` is the schema of pgvector.

    ``writes`` names a scope that nobody else writes to meanwhile; then the place of the audit's ``chain`` is
    read too.
    """
    if writes is None:
        return _READER.format(**_asker(schema, types, actor))
    owner = writes.split(":")[1].split("/")[0]
    return _WRITER.format(
        **_asker(schema, types, actor),
        model_of=sql.Literal(f"embedding user:{owner}"),
        written=sql.Literal(writes),
        chain=sql.Literal(chain),
    )


@cache
def path(schema: str, types: str) -> str:
    """Return the search path of a transaction."""
    return sql.SQL("{}, {}").format(sql.Identifier(schema), sql.Identifier(types)).as_string()


def of_scopes(schema: str, types: str, scope_keys: Sequence[str]) -> sql.Composed:
    """Return the beginning of a transaction on the own scopes of several users, or of nobody."""
    return _SCOPES.format(
        schema=sql.Identifier(schema),
        types=sql.Identifier(types),
        scopes=sql.Literal(",".join(scope_keys)),
    )


def _asker(schema: str, types: str, actor: Actor) -> dict[str, sql.Composable]:
    return {
        "schema": sql.Identifier(schema),
        "types": sql.Identifier(types),
        "scopes": sql.Literal(",".join(actor.scope_keys)),
        "sessions": sql.Literal(actor.session_prefix),
        "user": sql.Literal(actor.user),
        "user_scope": sql.Literal(actor.user_scope),
        "project": sql.Literal(actor.project_scope or ""),
    }
