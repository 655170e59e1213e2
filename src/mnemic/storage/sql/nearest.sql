-- The vector arms of a large scope, by index. {model} and {dims} are written into the statement: a partial
-- index on a cast is used for constants only.

-- name: walk
select set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.ef_search', %(ef)s::int::text, true),
       set_config('hnsw.max_scan_tuples', %(longest)s::int::text, true)

-- name: index_of_model
select m.indexed and i.relname is not null as indexed, greatest(coalesce(i.reltuples, 0), 0) as rows
from embedding_model m
left join pg_class t on t.oid = %(table)s::text::regclass
left join pg_class i on i.relnamespace = t.relnamespace and i.relname = %(table)s::text || '_hnsw_' || m.model_id
where m.model_id = %(model_id)s

-- name: by_index
select id
from memory_item
where model_id = {model}
  and scope_key = any(%(scopes)s)
  and status = any(%(statuses)s)
  and (%(memory_type)s::text is null or memory_type = %(memory_type)s)
  and valid_from <= coalesce(%(as_of)s::timestamptz, %(known_at)s::timestamptz, now())
  and (valid_to is null
       or valid_to > coalesce(%(as_of)s::timestamptz, %(known_at)s::timestamptz, now())
       or (status = 'superseded' and retired_at > %(known_at)s::timestamptz))
  and (%(known_at)s::timestamptz is null or recorded_at <= %(known_at)s::timestamptz)
order by embedding::halfvec({dims}) <=> %(embedding)s
limit %(candidates)s

-- name: chunks_by_index
select id
from chunk
where model_id = {model}
  and scope_key = any(%(scopes)s)
  and (%(as_of)s::timestamptz is null or occurred_at is null or occurred_at <= %(as_of)s)
order by embedding::halfvec({dims}) <=> %(embedding)s
limit %(candidates)s
