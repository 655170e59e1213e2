-- What the log says of a session, for its window.

-- name: newest
select last_seq, closed_at is not null as closed
from session
where scope_key = %(scope_key)s and session_id = %(session_id)s

-- name: sessions
select scope_key
from session
where user_id = %(user_id)s and starts_with(scope_key, %(sessions_scope)s)
