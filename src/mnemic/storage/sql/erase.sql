-- The erasure of one user: the functions look at who the transaction acts for.

-- name: hold_profiles
-- before anything else of these projects: whoever makes such a profile holds this, and then waits for nothing
select pg_advisory_xact_lock(hashtextextended('profile ' || scope_key, 0))
from projects_to_leave()

-- name: hold
select hold_for_erasure()

-- name: heirs
select scope_key, heir, ends
from projects_to_leave()
where heir is not null or ends

-- name: keys
select scope_key, author_id, key_id, wrapped, kek_id
from keys_to_leave()

-- name: left
select table_name, scope_key, id, version, column_name, value
from values_to_leave(%(most)s)

-- name: leave
select leave_value(%(table_name)s, %(scope_key)s, %(id)s, %(column_name)s, %(value)s)

-- name: left_history
select scope_key, recorded_at, row_no, value
from history_to_leave()

-- name: leave_history
select leave_history(%(scope_key)s, %(recorded_at)s::timestamptz, %(value)s)

-- name: erase
select table_name, n_rows
from erase_user(%(really)s)
