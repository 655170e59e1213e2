-- The read path: both arms in one scan and one round trip.

-- name: search
with seen as materialized (
    -- the one scan of the readable rows: what both arms need of each, and where it lies
    select m.ctid as place, m.id, m.n_tokens, m.slots && %(slots)s::text[] as same_slot,
           case when m.lexemes @@ %(any_word)s::tsquery then m.lexemes end as lexemes,
           case when m.model_id = %(model_id)s and (%(near)s::uuid[] is null or m.id = any(%(near)s))
                then m.embedding <=> %(embedding)s end as distance
    from memory_item m
    where m.scope_key = any(%(scopes)s)
      and m.status = any(%(statuses)s)
      and (%(memory_type)s::text is null or m.memory_type = %(memory_type)s)
      and m.valid_from <= coalesce(%(as_of)s::timestamptz, %(known_at)s::timestamptz, now())
      and (m.valid_to is null
           or m.valid_to > coalesce(%(as_of)s::timestamptz, %(known_at)s::timestamptz, now())
           -- its end was not known yet
           or (m.status = 'superseded' and m.retired_at > %(known_at)s::timestamptz))
      and (%(known_at)s::timestamptz is null or m.recorded_at <= %(known_at)s::timestamptz)
), stats as materialized (
    select count(*) as documents, coalesce(avg(n_tokens), 1)::float8 as average_tokens from seen
), posting as materialized (
    select s.place, s.id, s.n_tokens, array_position(%(lexemes)s::text[], u.lexeme) as n,
           u.positions[1] as tf
    from seen s
    cross join lateral unnest(s.lexemes) as u
    where s.lexemes is not null and u.lexeme = any(%(lexemes)s::text[])
), df as materialized (
    select n, count(*) as df from posting group by n
), words as (
    select p.place, array_agg(p.n) as ns, array_agg(p.tf) as tfs
    from posting p join df d using (n) cross join stats s
    group by p.place, p.id
    order by sum(ln(1::float8 + (s.documents - d.df + 0.5::float8) / (d.df + 0.5::float8))
                 * p.tf * 2.2::float8
                 / (p.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * p.n_tokens / s.average_tokens)))
             desc, p.id
    limit %(candidates)s
), candidates as (
    select place, max(ns) as ns, max(tfs) as tfs
    from (select place, ns, tfs from words
          union all
          (select place, null, null from seen
           where distance is not null order by distance, id limit %(candidates)s)
          union all
          (select place, null, null from seen
           where same_slot order by distance, id limit %(candidates)s)) as arms
    group by place
)
select m.scope_key, m.id, m.scope, m.scope_id, m.owner_id, m.memory_type, m.content_enc, m.source,
       m.source_id, m.source_seqs, m.confidence, m.status, m.reason_enc, m.metadata_enc, m.created_at,
       m.recorded_at, m.valid_from, m.valid_to, m.retired_at, m.superseded_by, m.version,
       m.n_tokens, m.script, m.slots && %(slots)s::text[] as same_slot,
       c.ns, c.tfs, s.documents, s.average_tokens, f.df,
       case when m.model_id = %(model_id)s then 1 - (m.embedding <=> %(embedding)s) end as cosine
from candidates c
join memory_item m on m.ctid = c.place
cross join stats s
cross join (
    select array(
        select coalesce(d.df, 0)
        from generate_series(1, cardinality(%(lexemes)s::text[])) as g (n)
        left join df d using (n)
        order by g.n) as df) as f
where m.scope_key = any(%(scopes)s)
