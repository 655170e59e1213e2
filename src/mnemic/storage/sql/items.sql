-- Memory items: the write path, reading by id, lists, chains. Every statement names its scopes.

-- name: lock_scope
-- Shared with other writers: whoever changes a model waits for them, and they for it. What a writer does next
-- is planned once a connection, not each time: planning takes longer than the work itself.
select set_config('plan_cache_mode', 'force_generic_plan', true),
       pg_advisory_xact_lock_shared(hashtextextended('embedding', 0)),
       pg_advisory_xact_lock_shared(hashtextextended(
           'embedding user:' || split_part(split_part(%(scope_key)s, ':', 2), '/', 1), 0)),
       pg_advisory_xact_lock(hashtextextended(%(scope_key)s, 0))

-- name: exact
select id, owner_id, valid_to is not null and valid_to <= coalesce(%(since)s::timestamptz, now()) as expired
from memory_item
where scope_key = %(scope_key)s and content_mac = %(content_mac)s
  and status in ('active', 'pending') and id <> %(except_id)s

-- name: exact_past
select id, owner_id, false as expired
from memory_item
where scope_key = %(scope_key)s and content_mac = %(content_mac)s
  and status in ('superseded', 'archived') and valid_from <= %(since)s and valid_to > %(since)s
  and id <> %(except_id)s
order by valid_from desc
limit 1

-- name: neighbours
with comparable as (
    select id, embedding <=> %(embedding)s as distance, slots && %(slots)s::text[] as same_slot
    from memory_item
    where scope_key = %(scope_key)s and model_id = %(model_id)s
      and (visibility = 'owner_only') = %(private)s
      and (status = 'active'
           or (status = 'pending'
               and not exists (select from verification v
                               where v.scope_key = memory_item.scope_key and v.item_id = memory_item.id
                                 and v.reason = 'instruction_like' and v.answered_at is null))
           or (%(since)s::timestamptz is not null and status in ('superseded', 'archived')
               and valid_to > valid_from))
      and (valid_to is null or valid_to > coalesce(%(since)s::timestamptz, now()))
      and id <> %(except_id)s
), nominated as (
    (select * from comparable order by distance limit %(limit)s)
    union
    (select * from comparable where same_slot order by distance limit %(limit)s)
)
select m.id, m.owner_id, m.version, m.content_enc, m.valid_from, 1 - n.distance as cosine, n.same_slot
from nominated n
join memory_item m on m.scope_key = %(scope_key)s and m.id = n.id
order by n.distance

-- name: clock
select now() as now

-- name: look
-- What stands beside each text of a batch; the functions are in migrations/0021_begin_write.sql.
select * from look_beside(
    %(scope_key)s, %(private)s, %(model_id)s::int, %(macs)s::bytea[], %(sinces)s::timestamptz[], %(embeddings)s,
    %(slot_lists)s::text[], %(farthest)s::float8[], %(most)s::int[])

-- name: begin_write
-- The same as the beginning of a transaction, which has no search path yet.
select * from {schema}.begin_write(
    %(path)s, %(asker_scopes)s, %(asker_sessions)s, %(asker)s, %(asker_project)s, %(asker_user)s,
    %(scope_key)s, %(chain)s::int,
    %(private)s, %(model_id)s::int, %(macs)s::bytea[], %(sinces)s::timestamptz[], %(embeddings)s,
    %(slot_lists)s::text[], %(farthest)s::float8[], %(most)s::int[])

-- name: begin_add
-- The same for one text that is true from now on; the function is in migrations/0023_begin_add.sql.
select * from {schema}.begin_add(
    %(path)s, %(asker_scopes)s, %(asker_sessions)s, %(asker)s, %(asker_project)s, %(asker_user)s,
    %(scope_key)s, %(chain)s::int,
    %(private)s, %(model_id)s::int, %(mac)s, %(embedding)s, %(slots)s, %(farthest)s::float8, %(most)s::int)

-- name: insert
insert into memory_item (
    scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, content_mac, source, source_id,
    source_seqs, confidence, visibility, status, reason_enc, metadata_enc, created_at, recorded_at,
    valid_from, local_offset, valid_to, embedding, model_id, lexemes, n_tokens, slots, script)
values (
    %(scope_key)s, %(id)s, %(scope)s, %(scope_id)s, %(owner_id)s, %(memory_type)s, %(content_enc)s,
    %(content_mac)s, %(source)s, %(source_id)s, %(source_seqs)s, %(confidence)s, %(visibility)s, %(status)s,
    %(reason_enc)s, %(metadata_enc)s, now(), now(), least(coalesce(%(valid_from)s, now()), now()),
    %(local_offset)s, %(valid_to)s, %(embedding)s, %(model_id)s, %(lexemes)s::tsvector, %(n_tokens)s,
    %(slots)s, %(script)s)

-- name: supersede
update memory_item
set status = 'superseded',
    retired_at = coalesce(retired_at, now()),
    superseded_by = case when status in ('active', 'pending') then old.by else superseded_by end,
    valid_to = least(valid_to, greatest(valid_from, least(coalesce(old.since, now()), now())))
from unnest(%(ids)s::uuid[], %(by)s::uuid[], %(sinces)s::timestamptz[]) as old (id, by, since)
where scope_key = %(scope_key)s and memory_item.id = old.id

-- name: archive
update memory_item
set status = 'archived', retired_at = now()
where scope_key = %(scope_key)s and id = %(id)s

-- name: strengthen
update memory_item
set confidence = greatest(confidence, again.trust)
from unnest(%(ids)s::uuid[], %(confidences)s::real[]) as again (id, trust)
where scope_key = %(scope_key)s and memory_item.id = again.id

-- name: activate
update memory_item
set status = 'active', confidence = greatest(confidence, %(confidence)s), recorded_at = now()
where scope_key = %(scope_key)s and id = %(id)s and status = 'pending'
returning valid_from

-- name: mark_used
insert into item_usage (scope_key, id, use_count)
select scope_key, id, uses
from unnest(%(scope_keys)s::text[], %(ids)s::uuid[], %(uses)s::bigint[]) as used (scope_key, id, uses)
where exists (select from memory_item m where m.scope_key = used.scope_key and m.id = used.id)
  and not exists (select from app_user u where u.remember = 'refused' and left(used.scope_key, 8) <> 'project:'
                  and u.scope_key = 'user:' || split_part(split_part(used.scope_key, ':', 2), '/', 1))
on conflict (scope_key, id) do update
set last_used_at = now(), use_count = item_usage.use_count + excluded.use_count

-- name: get
select scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, source, source_id, source_seqs,
    confidence, visibility, status, reason_enc, metadata_enc, created_at, recorded_at, valid_from, valid_to,
    local_offset, retired_at, superseded_by, version
from memory_item
where scope_key = any(%(scopes)s) and id = %(id)s

-- name: get_for_update
select scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, source, source_id, source_seqs,
    confidence, visibility, status, reason_enc, metadata_enc, created_at, recorded_at, valid_from, valid_to,
    local_offset, retired_at, superseded_by, version
from memory_item
where scope_key = any(%(scopes)s) and id = %(id)s
for update

-- name: vector
select embedding::real[] as vector
from memory_item
where scope_key = %(scope_key)s and id = %(id)s and model_id = %(model_id)s

-- name: list
select scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, source, source_id, source_seqs,
    confidence, visibility, status, reason_enc, metadata_enc, created_at, recorded_at, valid_from, valid_to,
    local_offset, retired_at, superseded_by, version
from memory_item
where scope_key = any(%(scopes)s)
  and status = any(%(statuses)s)
  and (%(memory_type)s::text is null or memory_type = %(memory_type)s)
  and (%(with_expired)s or valid_to is null or valid_to > now())
  and (%(before_id)s::uuid is null or (recorded_at, id) < (%(before_at)s::timestamptz, %(before_id)s))
order by recorded_at desc, id desc
limit %(limit)s

-- name: count
select count(*) as total
from memory_item
where scope_key = any(%(scopes)s)
  and status = any(%(statuses)s)
  and (%(memory_type)s::text is null or memory_type = %(memory_type)s)
  and (%(with_expired)s or valid_to is null or valid_to > now())

-- name: history
with recursive older as (
    select scope_key, id from memory_item where scope_key = any(%(scopes)s) and id = %(id)s
    union
    select m.scope_key, m.id
    from memory_item m join older on m.scope_key = older.scope_key and m.superseded_by = older.id
), newer as (
    select scope_key, id, superseded_by from memory_item where scope_key = any(%(scopes)s) and id = %(id)s
    union
    select m.scope_key, m.id, m.superseded_by
    from memory_item m join newer on m.scope_key = newer.scope_key and m.id = newer.superseded_by
)
select m.scope_key, m.id, m.scope, m.scope_id, m.owner_id, m.memory_type, m.content_enc, m.source,
    m.source_id, m.source_seqs, m.confidence, m.visibility, m.status, m.reason_enc, m.metadata_enc, m.created_at,
    m.recorded_at, m.valid_from, m.local_offset, m.valid_to, m.retired_at, m.superseded_by, m.version
from memory_item m
join (select scope_key, id from older union select scope_key, id from newer) as chain using (scope_key, id)
order by m.recorded_at desc, m.retired_at desc nulls first, m.id desc

-- name: chain_ids
with recursive older as (
    select scope_key, id from memory_item where scope_key = any(%(scopes)s) and id = %(id)s
    union
    select m.scope_key, m.id
    from memory_item m join older on m.scope_key = older.scope_key and m.superseded_by = older.id
)
select id from older
order by id <> %(id)s, id desc

-- name: delete
delete from memory_item
where scope_key = any(%(scopes)s) and id = any(%(ids)s)
returning id

-- name: count_all
select count(*) as total
from memory_item
where scope_key = %(user_scope)s or starts_with(scope_key, %(sessions)s)

-- name: delete_all
delete from memory_item
where scope_key = %(user_scope)s or starts_with(scope_key, %(sessions)s)

-- name: keep_version
insert into memory_item (
    scope_key, id, scope, scope_id, owner_id, memory_type, content_enc, content_mac, source, source_id,
    source_seqs, confidence, visibility, status, reason_enc, metadata_enc, created_at, recorded_at,
    valid_from, local_offset, valid_to, retired_at, superseded_by, version, embedding, model_id, lexemes, n_tokens,
    slots, script)
select scope_key, %(version_id)s, scope, scope_id, owner_id, memory_type, %(content_enc)s, content_mac,
    source, source_id, source_seqs, confidence, visibility, 'superseded', %(reason_enc)s, %(metadata_enc)s,
    created_at, recorded_at, valid_from, local_offset,
    case when %(corrected)s then valid_from else least(valid_to, greatest(valid_from, now())) end,
    now(), id, version, embedding, model_id, lexemes, n_tokens,
    slots, script
from memory_item
where scope_key = %(scope_key)s and id = %(id)s

-- name: replace
update memory_item
set content_enc = %(content_enc)s, content_mac = %(content_mac)s, reason_enc = %(reason_enc)s,
    metadata_enc = %(metadata_enc)s, memory_type = %(memory_type)s, confidence = %(confidence)s,
    visibility = %(visibility)s, status = %(status)s, version = version + 1, recorded_at = now(),
    valid_from = case when %(corrected)s then valid_from else now() end,
    local_offset = case when %(corrected)s then local_offset end,
    valid_to = %(valid_to)s, embedding = %(embedding)s, model_id = %(model_id)s,
    lexemes = %(lexemes)s::tsvector, n_tokens = %(n_tokens)s,
    slots = %(slots)s, script = %(script)s
where scope_key = %(scope_key)s and id = %(id)s and version = %(version)s

-- name: revise
update memory_item
set content_enc = %(content_enc)s, content_mac = %(content_mac)s, reason_enc = %(reason_enc)s,
    metadata_enc = %(metadata_enc)s, memory_type = %(memory_type)s, confidence = %(confidence)s,
    visibility = %(visibility)s, status = %(status)s,
    version = version + 1, recorded_at = now(), valid_to = %(valid_to)s
where scope_key = %(scope_key)s and id = %(id)s and version = %(version)s

-- name: ask
insert into verification (scope_key, item_id, reason, question_enc)
values (%(scope_key)s, %(id)s, %(reason)s, %(question_enc)s)
on conflict (scope_key, item_id) do update
set reason = excluded.reason, question_enc = excluded.question_enc, asked_at = now(),
    answered_at = null, answer = null

-- name: contest
insert into verification (scope_key, item_id, reason, question_enc)
values (%(scope_key)s, %(id)s, %(reason)s, %(question_enc)s)
on conflict (scope_key, item_id) do nothing

-- name: question
select reason, question_enc, asked_at
from verification
where scope_key = any(%(scopes)s) and item_id = %(id)s and answered_at is null

-- name: answer
update verification
set answered_at = now(), answer = 'confirmed'
where scope_key = %(scope_key)s and item_id = %(id)s and answered_at is null

-- name: open_questions
select v.reason as why, v.question_enc, v.asked_at, m.scope_key, m.id, m.scope, m.scope_id, m.owner_id,
    m.memory_type, m.content_enc, m.source, m.source_id, m.source_seqs, m.confidence, m.visibility, m.status,
    m.reason_enc, m.metadata_enc, m.created_at, m.recorded_at, m.valid_from, m.local_offset, m.valid_to,
    m.retired_at, m.superseded_by, m.version
from verification v
join memory_item m on m.scope_key = v.scope_key and m.id = v.item_id
where v.scope_key = any(%(scopes)s) and v.answered_at is null and m.owner_id = %(user_id)s
  and (m.status = 'pending' or m.status = 'active' and v.reason = 'contested')
order by v.asked_at, v.item_id
limit %(limit)s
