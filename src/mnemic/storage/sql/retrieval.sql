-- The read path: both arms in one round trip.

-- name: search
with q as (
    select lexeme, n from unnest(%(lexemes)s::text[]) with ordinality as q (lexeme, n)
), readable as not materialized (
    select *
    from memory_item
    where scope_key = any(%(scopes)s)
      and status = any(%(statuses)s)
      and (%(memory_type)s::text is null or memory_type = %(memory_type)s)
      and valid_from <= coalesce(%(as_of)s::timestamptz, %(known_at)s::timestamptz, now())
      and (valid_to is null
           or valid_to > coalesce(%(as_of)s::timestamptz, %(known_at)s::timestamptz, now())
           -- its end was not known yet
           or (status = 'superseded' and retired_at > %(known_at)s::timestamptz))
      and (%(known_at)s::timestamptz is null or recorded_at <= %(known_at)s::timestamptz)
), stats as (
    select count(*) as documents, coalesce(avg(n_tokens), 1)::float8 as average_tokens from readable
), posting as (
    select r.scope_key, r.id, r.n_tokens, q.n, u.positions[1] as tf
    from readable r
    cross join lateral unnest(r.lexemes) as u
    join q on q.lexeme = u.lexeme
    where r.lexemes @@ %(any_word)s::tsquery
), df as (
    select n, count(*) as df from posting group by n
), words as (
    select p.scope_key, p.id,
           array_agg(p.n) as ns, array_agg(p.tf) as tfs,
           sum(ln(1 + (s.documents - d.df + 0.5) / (d.df + 0.5))
               * p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * p.n_tokens / s.average_tokens))) as bm25
    from posting p join df d using (n) cross join stats s
    group by p.scope_key, p.id
    order by bm25 desc, p.id
    limit %(candidates)s
), nearest as (
    select scope_key, id
    from readable
    where model_id = %(model_id)s and (%(near)s::uuid[] is null or id = any(%(near)s))
    order by embedding <=> %(embedding)s, id
    limit %(candidates)s
), filling as (
    select scope_key, id
    from readable
    where slots && %(slots)s::text[]
    limit %(candidates)s
), candidates as (
    select scope_key, id from words
    union
    select scope_key, id from nearest
    union
    select scope_key, id from filling
)
select m.scope_key, m.id, m.scope, m.scope_id, m.owner_id, m.memory_type, m.content_enc, m.source,
    m.source_id, m.source_seqs, m.confidence, m.status, m.reason_enc, m.metadata_enc, m.created_at,
    m.recorded_at, m.valid_from, m.valid_to, m.retired_at, m.superseded_by, m.version,
       m.n_tokens, m.script, m.slots && %(slots)s::text[] as same_slot, w.ns, w.tfs, s.documents, s.average_tokens,
       case when m.model_id = %(model_id)s then 1 - (m.embedding <=> %(embedding)s) end as cosine,
       (select coalesce(array_agg(coalesce(d.df, 0) order by q.n), '{}') from q left join df d using (n)) as df
from candidates c
join memory_item m on m.scope_key = c.scope_key and m.id = c.id
cross join stats s
left join words w on w.scope_key = c.scope_key and w.id = c.id
