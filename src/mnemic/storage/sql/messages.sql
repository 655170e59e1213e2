-- The message log: append only, numbered without gaps within a session.

-- name: open_session
insert into session (scope_key, session_id, user_id, project_id)
values (%(scope_key)s, %(session_id)s, %(user_id)s, %(project_id)s)
on conflict (scope_key, session_id) do nothing

-- name: reserve
update session
set last_seq = last_seq + %(count)s, last_active_at = now()
where scope_key = %(scope_key)s and session_id = %(session_id)s and closed_at is null
returning last_seq - %(count)s as last_seq, now() as now

-- name: append
insert into message (scope_key, session_id, seq, role, content_enc, speaker_enc, created_at, local_offset,
                     tool_calls_enc, tool_call_id_enc, intent_enc, client_mac, pinned)
values (%(scope_key)s, %(session_id)s, %(seq)s, %(role)s, %(content_enc)s, %(speaker_enc)s, %(created_at)s,
        %(local_offset)s, %(tool_calls_enc)s, %(tool_call_id_enc)s, %(intent_enc)s, %(client_mac)s, %(pinned)s)

-- name: append_many
-- In one round trip, where nothing has to be looked up first: migrations/0020_local_time.sql.
select * from {schema}.append_many(%(appends)s::json, %(turns)s::json, %(unasked)s)

-- name: logged_as
select content_enc, created_at
from message
where scope_key = %(scope_key)s and session_id = %(session_id)s and seq = %(seq)s

-- name: hold_session
-- Whoever appends holds the session's row, so that numbers have no gaps and nothing is sent twice at once.
update session
set last_active_at = now()
where scope_key = %(scope_key)s and session_id = %(session_id)s
returning last_seq, closed_at is not null as closed

-- name: sent_before
select seq, client_mac, role, content_enc, speaker_enc, created_at, local_offset, tool_calls_enc, tool_call_id_enc,
    intent_enc, pinned
from message
where scope_key = %(scope_key)s and session_id = %(session_id)s and client_mac = any(%(client_macs)s)

-- name: calls
select seq, tool_calls_enc
from message
where scope_key = %(scope_key)s and session_id = %(session_id)s and tool_calls_enc is not null
  and seq < %(before)s
order by seq desc
limit %(limit)s

-- name: pin
with changed as (
    update message
    set pinned = %(pinned)s
    where scope_key = %(scope_key)s and session_id = %(session_id)s and seq = any(%(seqs)s)
      and pinned <> %(pinned)s
    returning seq)
select count(*) as found, array(select seq from changed order by seq) as changed
from message
where scope_key = %(scope_key)s and session_id = %(session_id)s and seq = any(%(seqs)s)

-- name: pinned
select seq, role, content_enc, speaker_enc, created_at, local_offset, tool_calls_enc, tool_call_id_enc, intent_enc,
    pinned
from message
where scope_key = %(scope_key)s and session_id = %(session_id)s and pinned and seq < %(before)s
order by seq desc
limit %(limit)s

-- name: read
select seq, role, content_enc, speaker_enc, created_at, local_offset, tool_calls_enc, tool_call_id_enc, intent_enc,
    pinned
from message
where scope_key = %(scope_key)s and session_id = %(session_id)s
  and seq > %(after)s and seq <= %(until)s
order by seq
limit %(limit)s

-- name: session_state
select last_seq, extracted_seq, closed_at
from session
where scope_key = %(scope_key)s and session_id = %(session_id)s

-- name: recent_passes
select count(*) as used,
       extract(epoch from min(at) + interval '24 hours' - now())::float8 as retry_after,
       coalesce(bool_or(turn = %(turn)s::bigint), false) as this_turn
from extraction_log
where scope_key = %(scope_key)s and session_id = %(session_id)s and at > now() - interval '24 hours'

-- name: log_pass
insert into extraction_log (scope_key, session_id, id, turn)
values (%(scope_key)s, %(session_id)s, %(id)s, %(turn)s)
on conflict do nothing

-- name: lock_session
select last_seq, extracted_seq
from session
where scope_key = %(scope_key)s and session_id = %(session_id)s
for update

-- name: mark_extracted
update session
set extracted_seq = greatest(extracted_seq, %(seq)s)
where scope_key = %(scope_key)s and session_id = %(session_id)s
