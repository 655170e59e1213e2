-- The store of agents: rows by the keyed hash of namespace and key.

-- name: get
select s.scope_key, s.entry_mac, s.id, s.entry_enc, s.value_enc, s.created_at, s.updated_at
from unnest(%(places)s::text[], %(entries)s::bytea[]) as w (scope_key, entry_mac)
join store_item s on s.scope_key = w.scope_key and s.entry_mac = w.entry_mac
where s.value_enc is not null and (s.expires_at is null or s.expires_at > clock_timestamp())

-- name: owners
select s.entry_mac, s.owner_id
from store_item s
where s.scope_key = %(scope_key)s and s.entry_mac = any(%(entries)s)

-- name: touch
-- what somebody else is at gets its time from them
with free as (
    select t.scope_key, t.entry_mac
    from unnest(%(places)s::text[], %(entries)s::bytea[]) as w (scope_key, entry_mac)
    join store_item t on t.scope_key = w.scope_key and t.entry_mac = w.entry_mac
    where t.expires_at > clock_timestamp()
    for no key update of t skip locked
)
update store_item s
set expires_at = clock_timestamp() + s.ttl
from free f
where s.scope_key = f.scope_key and s.entry_mac = f.entry_mac

-- name: put
insert into store_item as s (scope_key, entry_mac, id, owner_id, prefixes_mac, fields_mac, entry_enc, value_enc,
                             embeddings, model_id, lexemes, n_tokens, ttl, expires_at)
values (%(scope_key)s, %(entry_mac)s, %(id)s, %(owner_id)s, %(prefixes_mac)s, %(fields_mac)s, %(entry_enc)s,
        %(value_enc)s, %(embeddings)s, %(model_id)s, %(lexemes)s::tsvector, %(n_tokens)s, %(ttl)s,
        clock_timestamp() + %(ttl)s::interval)
on conflict (scope_key, entry_mac) do update
set id = excluded.id, owner_id = excluded.owner_id, prefixes_mac = excluded.prefixes_mac,
    fields_mac = excluded.fields_mac, entry_enc = excluded.entry_enc, value_enc = excluded.value_enc, item_id = null, made = false,
    embeddings = excluded.embeddings, model_id = excluded.model_id, lexemes = excluded.lexemes,
    n_tokens = excluded.n_tokens, ttl = excluded.ttl, expires_at = excluded.expires_at,
    created_at = case when s.expires_at <= clock_timestamp() then clock_timestamp() else s.created_at end,
    updated_at = clock_timestamp()
returning (xmax <> 0) as replaced

-- name: there
select m.id
from memory_item m
where m.scope_key = %(scope_key)s and m.id = %(id)s

-- name: link
-- of several puts of one text, one made the memory, whoever comes last
insert into store_item as s (scope_key, entry_mac, id, owner_id, prefixes_mac, entry_enc, item_id, made)
values (%(scope_key)s, %(entry_mac)s, %(id)s, %(owner_id)s, %(prefixes_mac)s, %(entry_enc)s, %(item_id)s, %(made)s)
on conflict (scope_key, entry_mac) do update
set id = excluded.id, owner_id = excluded.owner_id, prefixes_mac = excluded.prefixes_mac,
    entry_enc = excluded.entry_enc, value_enc = null, item_id = excluded.item_id,
    made = excluded.made or (s.made and s.item_id = excluded.item_id), updated_at = clock_timestamp()

-- name: remove
delete from store_item
where scope_key = %(scope_key)s and entry_mac = any(%(entries)s)

-- name: sweep
-- what somebody else is at is put anew, or goes with them
with free as (
    select t.scope_key, t.entry_mac
    from store_item t
    where t.scope_key = any(%(scopes)s) and t.expires_at <= clock_timestamp()
    for update skip locked
)
delete from store_item s
using free f
where s.scope_key = f.scope_key and s.entry_mac = f.entry_mac

-- name: page
-- the values under a prefix, the last put first; "equal" are declared fields that must have a value, and count
-- where the field was declared when the value was put
select s.scope_key, s.entry_mac, s.id, s.entry_enc, s.value_enc, s.created_at, s.updated_at
from unnest(%(places)s::text[], %(prefixes)s::bytea[]) as w (scope_key, prefix_mac)
join store_item s on s.scope_key = w.scope_key and w.prefix_mac = any(s.prefixes_mac)
where s.value_enc is not null and (s.expires_at is null or s.expires_at > clock_timestamp())
  and not exists (
      select from unnest(%(declared)s::bytea[], %(equal)s::bytea[]) as f (declared, equal)
      where f.declared = any(s.fields_mac) and not f.equal = any(s.fields_mac))
  and (%(before_id)s::uuid is null
       or (s.updated_at, s.id) < (%(before_at)s::timestamptz, %(before_id)s::uuid))
order by s.updated_at desc, s.id desc
limit %(limit)s

-- name: found
-- the evidence of both arms for every value under a prefix, without text; how many there are, and how long
with readable as (
    select s.scope_key, s.entry_mac, s.id, s.updated_at, s.n_tokens, s.model_id, s.embeddings, s.lexemes
    from unnest(%(places)s::text[], %(prefixes)s::bytea[]) as w (scope_key, prefix_mac)
    join store_item s on s.scope_key = w.scope_key and w.prefix_mac = any(s.prefixes_mac)
    where s.value_enc is not null and (s.expires_at is null or s.expires_at > clock_timestamp())
      and not exists (
          select from unnest(%(declared)s::bytea[], %(equal)s::bytea[]) as f (declared, equal)
          where f.declared = any(s.fields_mac) and not f.equal = any(s.fields_mac))
)
select r.scope_key, r.entry_mac, r.n_tokens,
       q.model_id <> 0 and r.n_tokens > 0 and r.model_id is distinct from q.model_id as outdated,
       case when r.model_id = q.model_id
            then (select max(1 - (e <=> q.embedding)) from unnest(r.embeddings) as e) end as cosine,
       array(select coalesce((select u.positions[1] from unnest(r.lexemes) as u where u.lexeme = t.lexeme), 0)
             from unnest(q.lexemes) with ordinality as t (lexeme, n) order by t.n)::int[] as tf,
       count(*) over () as documents, coalesce(avg(r.n_tokens) over (), 1)::float8 as average_tokens
from readable r
cross join unnest(%(of_scopes)s::text[], %(models)s::int[], %(vectors)s::halfvec[]) as v (scope_key, model_id, embedding)
cross join lateral (
    select v.model_id, v.embedding, array(
        select b.lexeme from unnest(%(lexeme_scopes)s::text[], %(lexemes)s::text[]) with ordinality
            as b (scope_key, lexeme, n) where b.scope_key = r.scope_key order by b.n) as lexemes
) as q
where v.scope_key = r.scope_key
order by r.updated_at desc, r.id desc

-- name: revector
-- new vectors for a value that has not been put anew since
update store_item
set embeddings = %(embeddings)s, model_id = %(model_id)s
where scope_key = %(scope_key)s and entry_mac = %(entry_mac)s and id = %(id)s

-- name: namespaces
select distinct on (s.scope_key, s.prefixes_mac[cardinality(s.prefixes_mac)])
    s.scope_key, s.entry_mac, s.id, s.entry_enc
from unnest(%(places)s::text[], %(prefixes)s::bytea[]) as w (scope_key, prefix_mac)
join store_item s on s.scope_key = w.scope_key and w.prefix_mac = any(s.prefixes_mac)
where s.expires_at is null or s.expires_at > clock_timestamp()
order by s.scope_key, s.prefixes_mac[cardinality(s.prefixes_mac)], s.updated_at desc

-- name: links
-- the keys under which memories stand, with these where they count now; all of a scope, or those named
select s.entry_mac, s.id as put_id, s.entry_enc, s.made, s.created_at as put_at, s.updated_at as put_again_at,
       m.scope_key, m.id, m.scope, m.scope_id, m.owner_id, m.memory_type, m.content_enc, m.source, m.source_id,
       m.source_seqs, m.confidence, m.visibility, m.status, m.reason_enc, m.metadata_enc, m.created_at,
       m.recorded_at, m.valid_from, m.local_offset, m.valid_to, m.retired_at, m.superseded_by, m.version
from store_item s
join memory_item m on m.scope_key = s.scope_key and m.id = s.item_id
where s.scope_key = %(scope_key)s
  and (%(entries)s::bytea[] is null or s.entry_mac = any(%(entries)s))
  and (%(items)s::uuid[] is null or s.item_id = any(%(items)s))
