-- Users' own embedding models, and vectors on their way from one model to another.

-- name: settings
select s.stage, s.base_url_enc, s.model_enc, s.api_key_enc, s.dims, s.model_id, s.updated_at, m.calibration
from embedding_settings s
left join embedding_model m using (model_id)
where s.scope_key = %(scope_key)s

-- name: settings_of_model
select s.stage, s.base_url_enc, s.model_enc, s.api_key_enc, s.dims, s.model_id, s.updated_at, m.calibration
from embedding_settings s
join embedding_model m using (model_id)
where s.scope_key = %(scope_key)s and s.model_id = %(model_id)s

-- name: put_settings
insert into embedding_settings (
    scope_key, stage, user_id, base_url_enc, model_enc, api_key_enc, dims, model_id)
values (
    %(scope_key)s, %(stage)s, %(user_id)s, %(base_url_enc)s, %(model_enc)s, %(api_key_enc)s, %(dims)s,
    %(model_id)s)
on conflict (scope_key, stage) do update
set base_url_enc = excluded.base_url_enc, model_enc = excluded.model_enc,
    api_key_enc = excluded.api_key_enc, dims = excluded.dims, model_id = excluded.model_id,
    updated_at = now()

-- name: drop_settings
delete from embedding_settings
where scope_key = %(scope_key)s and stage = %(stage)s

-- name: activate_settings
update embedding_settings
set stage = 'active', updated_at = now()
where scope_key = %(scope_key)s and stage = 'next'

-- name: add_own_model
insert into embedding_model (name, dims, calibration, own)
values (%(name)s, %(dims)s, %(calibration)s, true)
returning model_id

-- name: use_model
update app_user
set model_id = %(model_id)s
where scope_key = %(scope_key)s

-- name: in_use
select d.model_id as deployments, u.model_id as own
from deployment d
left join app_user u on u.scope_key = %(user_scope)s

-- name: hold_model
select pg_advisory_xact_lock_shared(hashtextextended('embedding', 0)),
       pg_advisory_xact_lock_shared(hashtextextended('embedding ' || %(user_scope)s, 0))

-- name: hold_user
select pg_advisory_xact_lock_shared(hashtextextended('embedding', 0)),
       pg_advisory_xact_lock(hashtextextended('embedding ' || %(scope_key)s, 0))

-- name: scopes_of_user
select scope_key from memory_item
where scope_key = %(user_scope)s or starts_with(scope_key, %(sessions)s)
union
select scope_key from chunk
where scope_key = %(user_scope)s or starts_with(scope_key, %(sessions)s)
order by scope_key

-- name: waiting_items
select m.id, m.version as row_version, m.content_enc
from memory_item m
where m.scope_key = %(scope_key)s and m.model_id <> %(model_id)s and m.id > %(after)s
  and (%(own_too)s or exists (select from embedding_model e where e.model_id = m.model_id and not e.own))
  and not exists (select from reembedding r
                  where r.scope_key = m.scope_key and r.table_name = 'memory_item' and r.id = m.id
                    and r.model_id = %(model_id)s and r.row_version = m.version)
order by m.id
limit %(limit)s

-- name: waiting_chunks
select c.scope_key, c.id, c.xmin::text::bigint as row_version, c.resource_id, c.ordinal, c.text_enc,
       r.kind, r.session_id, r.title_enc
from chunk c
join resource r on r.scope_key = c.scope_key and r.id = c.resource_id
where c.scope_key = %(scope_key)s and c.model_id <> %(model_id)s and c.id > %(after)s
  and (%(own_too)s or exists (select from embedding_model e where e.model_id = c.model_id and not e.own))
  and not exists (select from reembedding n
                  where n.scope_key = c.scope_key and n.table_name = 'chunk' and n.id = c.id
                    and n.model_id = %(model_id)s and n.row_version = c.xmin::text::bigint)
order by c.id
limit %(limit)s

-- name: keep_item
insert into reembedding (scope_key, table_name, id, item_id, model_id, row_version, embedding, reason)
select scope_key, 'memory_item', id, id, %(model_id)s, %(row_version)s, %(embedding)s, %(reason)s
from memory_item
where scope_key = %(scope_key)s and id = %(id)s
for key share
on conflict (scope_key, table_name, id, model_id) do update
set row_version = excluded.row_version, embedding = excluded.embedding, reason = excluded.reason

-- name: keep_chunk
insert into reembedding (
    scope_key, table_name, id, chunk_id, model_id, row_version, embedding, passages, reason)
select scope_key, 'chunk', id, id, %(model_id)s, %(row_version)s, %(embedding)s, %(passages)s::halfvec[],
    %(reason)s
from chunk
where scope_key = %(scope_key)s and id = %(id)s
for key share
on conflict (scope_key, table_name, id, model_id) do update
set row_version = excluded.row_version, embedding = excluded.embedding, passages = excluded.passages,
    reason = excluded.reason

-- name: unready
select (select count(*) from memory_item m
        where m.scope_key = %(scope_key)s and m.model_id <> %(model_id)s
          and not exists (select from reembedding r
                          where r.scope_key = m.scope_key and r.table_name = 'memory_item' and r.id = m.id
                            and r.model_id = %(model_id)s and r.row_version = m.version))
     + (select count(*) from chunk c
        where c.scope_key = %(scope_key)s and c.model_id <> %(model_id)s
          and not exists (select from reembedding r
                          where r.scope_key = c.scope_key and r.table_name = 'chunk' and r.id = c.id
                            and r.model_id = %(model_id)s and r.row_version = c.xmin::text::bigint))
       as waiting

-- name: switch_items
update memory_item m
set embedding = r.embedding, model_id = r.model_id
from reembedding r
where m.scope_key = %(scope_key)s and r.scope_key = %(scope_key)s and r.table_name = 'memory_item'
  and r.id = m.id and r.model_id = %(model_id)s and r.row_version = m.version and r.embedding is not null
  and m.model_id <> %(model_id)s

-- name: switch_chunks
update chunk c
set embedding = r.embedding, passages = r.passages, model_id = r.model_id
from reembedding r
where c.scope_key = %(scope_key)s and r.scope_key = %(scope_key)s and r.table_name = 'chunk'
  and r.id = c.id and r.model_id = %(model_id)s and r.row_version = c.xmin::text::bigint
  and r.embedding is not null and c.model_id <> %(model_id)s

-- name: refused
select table_name as "table", id, reason
from reembedding
where scope_key = %(scope_key)s and model_id = %(model_id)s and reason is not null
order by table_name, id

-- name: clear_scope
delete from reembedding
where scope_key = %(scope_key)s

-- name: clear_user
delete from reembedding
where (scope_key = %(scope_key)s or starts_with(scope_key, %(sessions)s))
  and model_id is distinct from %(model_id)s
