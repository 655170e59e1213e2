-- The owner's work, across the scopes of all users: a change of the deployment's model, and its indexes.

-- name: next_scope
select n.scope_key,
       exists (select from app_user u where u.remember = 'refused' and left(n.scope_key, 8) <> 'project:'
               and u.scope_key = 'user:' || split_part(split_part(n.scope_key, ':', 2), '/', 1)) as refused
from (select least((select min(scope_key) from memory_item where scope_key > %(after)s),
                   (select min(scope_key) from chunk where scope_key > %(after)s)) as scope_key) n

-- name: state
select d.model_id, m.name, m.dims, d.next_model_id, n.name as next_name, n.dims as next_dims
from deployment d
left join embedding_model m on m.model_id = d.model_id
left join embedding_model n on n.model_id = d.next_model_id

-- name: begin_change
update deployment
set next_model_id = %(model_id)s

-- name: drop_others
delete from reembedding r
using embedding_model e
where e.model_id = r.model_id and not e.own and r.model_id <> %(model_id)s

-- name: hold_everyone
select pg_advisory_xact_lock(hashtextextended('embedding', 0))

-- name: one_at_a_time
select pg_try_advisory_xact_lock(hashtextextended('reembedding of the deployment', 0)) as alone

-- name: size
select (select count(*) from memory_item m join embedding_model e using (model_id)
        where not e.own and m.model_id <> %(model_id)s
          and not exists (select from app_user u where u.remember = 'refused' and left(m.scope_key, 8) <> 'project:'
                          and u.scope_key = 'user:' || split_part(split_part(m.scope_key, ':', 2), '/', 1))) as items,
       (select count(*) from chunk c join embedding_model e using (model_id)
        where not e.own and c.model_id <> %(model_id)s
          and not exists (select from app_user u where u.remember = 'refused' and left(c.scope_key, 8) <> 'project:'
                          and u.scope_key = 'user:' || split_part(split_part(c.scope_key, ':', 2), '/', 1))) as chunks,
       (select count(*) from reembedding where model_id = %(model_id)s) as ready

-- name: unready
select (select count(*) from memory_item m join embedding_model e using (model_id)
        where not e.own and m.model_id <> %(model_id)s
          and not exists (select from app_user u where u.remember = 'refused' and left(m.scope_key, 8) <> 'project:'
                          and u.scope_key = 'user:' || split_part(split_part(m.scope_key, ':', 2), '/', 1))
          and not exists (select from reembedding r
                          where r.scope_key = m.scope_key and r.table_name = 'memory_item' and r.id = m.id
                            and r.model_id = %(model_id)s and r.row_version = m.version))
     + (select count(*) from chunk c join embedding_model e using (model_id)
        where not e.own and c.model_id <> %(model_id)s
          and not exists (select from app_user u where u.remember = 'refused' and left(c.scope_key, 8) <> 'project:'
                          and u.scope_key = 'user:' || split_part(split_part(c.scope_key, ':', 2), '/', 1))
          and not exists (select from reembedding r
                          where r.scope_key = c.scope_key and r.table_name = 'chunk' and r.id = c.id
                            and r.model_id = %(model_id)s and r.row_version = c.xmin::text::bigint))
       as waiting

-- name: switch_items
update memory_item m
set embedding = r.embedding, model_id = r.model_id
from reembedding r, embedding_model e
where r.scope_key = m.scope_key and r.table_name = 'memory_item' and r.id = m.id
  and r.model_id = %(model_id)s and r.row_version = m.version and r.embedding is not null
  and m.model_id <> %(model_id)s and e.model_id = m.model_id and not e.own

-- name: switch_chunks
update chunk c
set embedding = r.embedding, passages = r.passages, model_id = r.model_id
from reembedding r, embedding_model e
where r.scope_key = c.scope_key and r.table_name = 'chunk' and r.id = c.id
  and r.model_id = %(model_id)s and r.row_version = c.xmin::text::bigint and r.embedding is not null
  and c.model_id <> %(model_id)s and e.model_id = c.model_id and not e.own

-- name: refused
select table_name as "table", id, reason
from reembedding
where model_id = %(model_id)s and reason is not null
order by table_name, id

-- name: end_change
update deployment
set model_id = %(model_id)s, next_model_id = null

-- name: clear
delete from reembedding
where model_id = %(model_id)s

-- name: mark_indexed
update embedding_model
set indexed = true
where model_id = %(model_id)s

-- name: index_state
select i.indisvalid as valid
from pg_class c join pg_index i on i.indexrelid = c.oid
where c.relnamespace = %(schema)s::regnamespace and c.relname = %(index)s
