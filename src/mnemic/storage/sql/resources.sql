-- Conversations and documents as chunks. Everything here lies in the user's scope, except the session row
-- whose watermark says up to which turn a conversation is indexed.

-- name: session_watermark
select last_seq, indexed_seq
from session
where scope_key = %(session_key)s and session_id = %(session_id)s

-- name: lock_watermark
select indexed_seq
from session
where scope_key = %(session_key)s and session_id = %(session_id)s
for no key update

-- name: mark_indexed
update session
set indexed_seq = %(seq)s
where scope_key = %(session_key)s and session_id = %(session_id)s

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
    %(speaker_mac)s, %(occurred_at)s, %(embedding)s::halfvec, %(passages)s::halfvec[], %(model_id)s,
    %(lexemes)s::tsvector, %(n_tokens)s)

-- name: look_again
update chunk
set embedding = %(embedding)s::halfvec, passages = %(passages)s::halfvec[], model_id = %(model_id)s
where scope_key = %(scope_key)s and resource_id = %(resource_id)s and ordinal = %(ordinal)s

-- name: count_chunks
update resource
set n_chunks = n_chunks + %(count)s
where scope_key = %(scope_key)s and id = %(id)s
