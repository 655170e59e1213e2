-- Conversations and documents as chunks. Conversations lie in the user's scope, except the session row whose
-- watermark says up to which turn one is indexed; documents in the user's or in a project's.

-- name: session_watermark
select last_seq, indexed_seq
from session
where scope_key = %(session_scope)s and session_id = %(session_id)s

-- name: lock_watermark
select indexed_seq
from session
where scope_key = %(session_scope)s and session_id = %(session_id)s
for no key update

-- name: mark_indexed
update session
set indexed_seq = %(seq)s
where scope_key = %(session_scope)s and session_id = %(session_id)s

-- name: add_conversation
insert into resource (scope_key, id, kind, collection, owner_id, session_id, occurred_at)
values (%(scope_key)s, %(id)s, 'chat', 'memory', %(owner_id)s, %(session_id)s, %(occurred_at)s)
on conflict (scope_key, session_id) do nothing

-- name: conversation
select id
from resource
where scope_key = %(scope_key)s and session_id = %(session_id)s

-- name: add_turn
insert into chunk (scope_key, id, resource_id, ordinal, role, asking, stands, speaker_mac, occurred_at,
    embedding, passages, model_id, lexemes, n_tokens)
values (%(scope_key)s, %(id)s, %(resource_id)s, %(ordinal)s, %(role)s, %(asking)s, %(stands)s,
    %(speaker_mac)s, %(occurred_at)s, %(embedding)s::halfvec, %(passages)s, %(model_id)s,
    %(lexemes)s::tsvector, %(n_tokens)s)

-- name: look_again
update chunk
set embedding = %(embedding)s::halfvec, passages = %(passages)s, model_id = %(model_id)s
where scope_key = %(scope_key)s and resource_id = %(resource_id)s and ordinal = %(ordinal)s

-- name: count_chunks
update resource
set n_chunks = n_chunks + %(count)s
where scope_key = %(scope_key)s and id = %(id)s

-- name: lock_documents
select pg_advisory_xact_lock(hashtextextended('documents|' || %(scope_key)s, 0))

-- name: same_content
select id, n_chunks, uri_mac
from resource
where scope_key = %(scope_key)s and collection = %(collection)s and content_mac = %(content_mac)s

-- name: same_uri
select id, owner_id, visibility, n_chunks
from resource
where scope_key = %(scope_key)s and collection = %(collection)s and uri_mac = %(uri_mac)s

-- name: drafts
select count(*) as count, coalesce(max(ordinal), 0) as last, count(distinct model_id) as models,
       min(model_id) as model_id
from chunk_draft
where scope_key = %(scope_key)s and draft_mac = %(draft_mac)s

-- name: add_draft
insert into chunk_draft (scope_key, draft_mac, ordinal, id, owner_id, text_enc, embedding, model_id, lexemes,
    n_tokens)
values (%(scope_key)s, %(draft_mac)s, %(ordinal)s, %(id)s, %(owner_id)s, %(text_enc)s, %(embedding)s::halfvec,
    %(model_id)s, %(lexemes)s::tsvector, %(n_tokens)s)
on conflict (scope_key, draft_mac, ordinal) do nothing

-- name: drop_drafts
delete from chunk_draft
where scope_key = %(scope_key)s
  and (draft_mac = %(draft_mac)s or created_at < now() - interval '7 days')

-- name: add_document
insert into resource (scope_key, id, kind, collection, owner_id, visibility, title_enc, uri_enc, uri_mac,
    content_mac, n_chunks, occurred_at)
values (%(scope_key)s, %(id)s, %(kind)s, %(collection)s, %(owner_id)s, %(visibility)s, %(title_enc)s,
    %(uri_enc)s, %(uri_mac)s, %(content_mac)s, %(n_chunks)s, %(occurred_at)s)

-- name: publish
insert into chunk (scope_key, id, resource_id, owner_id, visibility, ordinal, text_enc, occurred_at, embedding,
    model_id, lexemes, n_tokens)
select scope_key, id, %(id)s, %(owner_id)s, %(visibility)s, ordinal, text_enc, %(occurred_at)s, embedding,
    model_id, lexemes, n_tokens
from chunk_draft
where scope_key = %(scope_key)s and draft_mac = %(draft_mac)s

-- name: get
select scope_key, id, kind, collection, owner_id, visibility, session_id, title_enc, uri_enc, n_chunks,
    occurred_at, created_at
from resource
where scope_key = any(%(scopes)s) and id = %(id)s

-- name: list
select scope_key, id, kind, collection, owner_id, visibility, session_id, title_enc, uri_enc, n_chunks,
    occurred_at, created_at
from resource
where scope_key = any(%(scopes)s)
  and (%(kind)s::text is null or kind = %(kind)s)
  and (%(collection)s::text is null or collection = %(collection)s)
  and (%(before_id)s::uuid is null or (created_at, id) < (%(before_at)s::timestamptz, %(before_id)s))
order by created_at desc, id desc
limit %(limit)s

-- name: count
select count(*) as total
from resource
where scope_key = any(%(scopes)s)
  and (%(kind)s::text is null or kind = %(kind)s)
  and (%(collection)s::text is null or collection = %(collection)s)

-- name: pieces
select id, ordinal, text_enc
from chunk
where scope_key = %(scope_key)s and resource_id = %(id)s and ordinal > %(after)s
order by ordinal
limit %(limit)s

-- name: delete
delete from resource
where scope_key = %(scope_key)s and id = %(id)s
