-- Searching chat turns and documents: what they are found by in one round trip, the text of the winners in
-- another.

-- name: turns
-- Three lists are candidates: by meaning, by words, and by both with speaker, day and kind of sentence; and the
-- two turns on each side of a candidate. In a scope of more than "exact" chunks only a pool is looked at: the
-- nearest by window ("near", where an index found them before), the best by words, the latest of a named day or
-- speaker.
-- Nothing is joined by id: these sets are small to the planner whatever they hold, and it would loop.
with q as (
    select lexeme, tell, n
    from unnest(%(lexemes)s::text[], %(tells)s::float8[]) with ordinality as q (lexeme, tell, n)
), readable as not materialized (
    select *, (occurred_at at time zone 'utc')::date as day
    from chunk
    where scope_key = any(%(scopes)s)
      and (%(as_of)s::timestamptz is null or occurred_at is null or occurred_at <= %(as_of)s)
      and (%(in_mind)s = 0 or not exists (
          select from resource r
          join session s on s.scope_key = any(%(own_sessions)s) and s.session_id = r.session_id
          where r.scope_key = chunk.scope_key and r.id = chunk.resource_id
            and chunk.ordinal > s.last_seq - %(in_mind)s))
), stats as materialized (
    select count(*) as documents, coalesce(avg(n_tokens), 1)::float8 as average_tokens,
           min(day) as first_day, max(day) as last_day,
           case when count(*) > %(exact)s then %(pool)s else %(exact)s end as most
    from readable
), speaker as materialized (
    select mac, array_position(%(speakers)s::bytea[], mac) as n
    from (select distinct speaker_mac as mac from readable where speaker_mac = any(%(speakers)s::bytea[])) as s
), span as materialized (
    select * from unnest(%(firsts)s::date[], %(lasts)s::date[], %(span_weights)s::float8[])
        as s (first, last, weight)
    union all
    select first_day, first_day, 1 from stats where %(first_talk)s and first_day is not null
    union all
    select last_day, last_day, 1 from stats where %(latest_talk)s and last_day is not null
), posting as materialized (
    select r.scope_key, r.id, r.n_tokens, w.ns, w.tfs
    from readable r
    cross join lateral (
        select array_agg(array_position(%(lexemes)s::text[], u.lexeme)) as ns, array_agg(u.positions[1]) as tfs
        from unnest(r.lexemes) as u
        where u.lexeme = any(%(lexemes)s::text[])
    ) as w
    where r.lexemes @@ %(any_word)s::tsquery
), df as materialized (
    select n, count(*) as df from posting p, unnest(p.ns) as n group by n
), worth as materialized (
    -- worth of the lexeme n at place n, nothing for the name of a speaker
    select array_agg(
        case when q.n = any(array(
            select o.lexeme from speaker sp
            join unnest(%(name_of)s::int[], %(lexeme_of)s::int[]) as o (name, lexeme) on o.name = sp.n
        )) then 0
        else q.tell * ln(1 + (s.documents + 20 - coalesce(d.df, 0) + 0.5) / (coalesce(d.df, 0) + 0.5)) end
        order by q.n) as of, array_agg(coalesce(d.df, 0) order by q.n) as df
    from q left join df d using (n) cross join stats s
), words as materialized (
    select p.scope_key, p.id, p.ns, p.tfs, (
        select sum(w.of[t.n] * t.tf / (t.tf + 1.2 * (0.25 + 0.75 * p.n_tokens / s.average_tokens)))
        from unnest(p.ns, p.tfs) as t (n, tf)) as amount
    from posting p cross join stats s cross join worth w
), pool as (
    select scope_key, id, max(ns) as ns, max(tfs) as tfs, coalesce(max(amount), 0) as amount
    from (
        (select scope_key, id, null as ns, null as tfs, null as amount
         from readable
         where model_id = %(model_id)s and %(near)s::uuid[] is null
         order by embedding <=> %(embedding)s
         limit (select most from stats))
        union all
        (select scope_key, id, ns, tfs, amount from words order by amount desc, id limit (select most from stats))
        union all
        (select scope_key, id, null, null, null
         from readable r
         where (select documents from stats) > %(exact)s
           and (r.speaker_mac in (select mac from speaker)
                or exists (select from span s where r.day between s.first and s.last))
         order by r.occurred_at desc
         limit (select most from stats))
        union all
        (select scope_key, id, null, null, null from readable where id = any(%(near)s::uuid[]))
    ) as found
    group by scope_key, id
), seen as materialized (
    select c.scope_key, c.id, c.resource_id, c.ordinal, c.role, c.asking, c.stands, c.occurred_at, c.n_tokens,
           d.day, p.ns, p.tfs, p.amount, coalesce(c.speaker_mac in (select mac from speaker), false) as named,
           v.own as window_cosine, coalesce(v.best, v.own) as passage_cosine
    from pool p
    join chunk c using (scope_key, id)
    cross join lateral (select (c.occurred_at at time zone 'utc')::date as day) as d
    -- no where decides this: vectors of another model may be of another length, and the planner may compare first
    cross join lateral (
        select case when c.model_id = %(model_id)s then -(c.embedding <#> %(embedding)s) end as own,
               case when c.model_id = %(model_id)s
                    then (select max(-(one <#> %(embedding)s)) from unnest(c.passages) as one) end as best
    ) as v
), weighed as materialized (
    select *,
           %(side)s * 0.15 * role - 0.25 * asking + 0.35 * named::int + 0.2 * (%(request)s and stands)::int
           + 0.9 * coalesce((
               select max(s.weight * case
                   when seen.day < s.first then 0.6 * greatest(0, 1 - (s.first - seen.day) / 7.0)
                   when seen.day <= s.last then 1
                   else 0.6 * least(1, greatest(0, 1 - (seen.day - s.last - 3) / 14.0))
               end) from span s), 0) as prior,
           (window_cosine + passage_cosine) / 2 as cosine
    from seen
), listed as (
    select *,
           row_number() over (order by cosine desc nulls last, id) <= %(by_meaning)s
           or (amount > 0 and row_number() over (order by amount desc, id) <= %(by_words)s)
           or row_number() over (order by prior + 0.75 * amount / (amount + 8)
               + 0.5 * coalesce((cosine - %(chance)s) / %(reach)s, 0) desc, id) <= %(by_all)s as picked
    from weighed
), around as (
    select *, bool_or(picked) over (
        partition by scope_key, resource_id order by ordinal range between 2 preceding and 2 following) as beside
    from listed
)
select a.scope_key, a.id, a.resource_id, a.ordinal, a.role, a.asking, a.stands, a.occurred_at, a.n_tokens,
       a.named, a.day, a.window_cosine, a.passage_cosine, a.ns, a.tfs, r.kind, r.session_id,
       s.documents, s.average_tokens, s.first_day, s.last_day, w.df,
       (select coalesce(array_agg(n), '{}') from speaker) as speakers
from around a
join lateral (select kind, session_id from resource r where r.scope_key = a.scope_key and r.id = a.resource_id) as r
    on true
cross join stats s
cross join worth w
where a.beside
order by a.scope_key, a.resource_id, a.ordinal

-- name: said
select m.scope_key, m.session_id, m.seq, m.role, m.content_enc, m.speaker_enc, m.created_at, m.local_offset
from unnest(%(scope_keys)s::text[], %(session_ids)s::text[], %(seqs)s::bigint[]) as w (scope_key, session_id, seq)
join message m using (scope_key, session_id, seq)

-- name: pieces
select c.scope_key, c.id, c.resource_id, c.text_enc, r.title_enc
from unnest(%(scope_keys)s::text[], %(ids)s::uuid[]) as w (scope_key, id)
join chunk c using (scope_key, id)
join resource r on r.scope_key = c.scope_key and r.id = c.resource_id
