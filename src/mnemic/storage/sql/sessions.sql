-- Sessions as a whole: their summary, what they keep for a while, and their end.

-- name: session
select session_id, project_id, started_at, last_active_at, closed_at, last_seq, extracted_seq, summary_version
from session
where scope_key = %(scope_key)s and session_id = %(session_id)s

-- name: known_session
select exists(select from session where scope_key = %(scope_key)s and session_id = %(session_id)s)
    or exists(select from memory_item where scope_key = %(scope_key)s) as known

-- name: list
select session_id, project_id, started_at, last_active_at, closed_at, last_seq, extracted_seq, summary_version
from session
where starts_with(scope_key, %(session_scopes)s) and user_id = %(user_id)s
  and (%(before_at)s::timestamptz is null or (started_at, session_id) < (%(before_at)s, %(before_id)s::text))
order by started_at desc, session_id desc
limit %(limit)s

-- name: count
select count(*) as total
from session
where starts_with(scope_key, %(session_scopes)s) and user_id = %(user_id)s

-- name: summary
select summary_enc, summary_seqs, summary_by, summary_version
from session
where scope_key = %(scope_key)s and session_id = %(session_id)s

-- name: keep_summary
update session
set summary_enc = %(summary_enc)s, summary_seqs = %(summary_seqs)s, summary_by = %(summary_by)s,
    summary_version = %(summary_version)s
where scope_key = %(scope_key)s and session_id = %(session_id)s
  and summary_version = %(summary_version)s - 1

-- name: hold_open
select closed_at is not null as closed, coalesce(%(now)s::timestamptz, now()) as now
from session
where scope_key = %(scope_key)s and session_id = %(session_id)s
for update

-- name: sweep_state
delete from session_state
where scope_key = %(scope_key)s and session_id = %(session_id)s and expires_at <= %(now)s

-- name: state_entry
select name_mac, entry_enc, version, updated_at, expires_at
from session_state
where scope_key = %(scope_key)s and session_id = %(session_id)s and name_mac = %(name_mac)s
  and expires_at > coalesce(%(now)s::timestamptz, now())

-- name: count_state
select count(*) as total
from session_state
where scope_key = %(scope_key)s and session_id = %(session_id)s and name_mac <> %(name_mac)s

-- name: set_state
insert into session_state (scope_key, session_id, name_mac, entry_enc, version, updated_at, expires_at)
values (%(scope_key)s, %(session_id)s, %(name_mac)s, %(entry_enc)s, %(version)s, %(updated_at)s, %(expires_at)s)
on conflict (scope_key, session_id, name_mac) do update
set entry_enc = excluded.entry_enc, version = excluded.version, updated_at = excluded.updated_at,
    expires_at = excluded.expires_at

-- name: all_state
select name_mac, entry_enc, version, updated_at, expires_at
from session_state
where scope_key = %(scope_key)s and session_id = %(session_id)s
  and expires_at > coalesce(%(now)s::timestamptz, now())

-- name: drop_state
delete from session_state
where scope_key = %(scope_key)s and session_id = %(session_id)s and name_mac = %(name_mac)s
returning expires_at > coalesce(%(now)s::timestamptz, now()) as alive

-- name: drop_all_state
delete from session_state
where scope_key = %(scope_key)s and session_id = %(session_id)s

-- name: close
update session
set closed_at = now()
where scope_key = %(scope_key)s and session_id = %(session_id)s and closed_at is null

-- name: archive_items
update memory_item
set status = 'archived', retired_at = now()
where scope_key = %(scope_key)s and status in ('active', 'pending')
