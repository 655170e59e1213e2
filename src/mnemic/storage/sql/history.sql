-- History of profiles: functions in our schema for what lies in one that the service may not enter.

-- name: record
select record_profile_change(%(scope_key)s, %(version)s, %(recorded_at)s, %(cause)s, %(change_enc)s) as begun

-- name: authors
select id, owner_id
from memory_item
where scope_key = %(scope_key)s and id = any (%(ids)s::uuid[])

-- name: changes
select recorded_at, version, cause, change_enc
from profile_changes(%(scope_key)s, %(until)s::timestamptz, %(before)s::int, %(most)s::int, false)

-- name: oldest
select recorded_at, version, cause, change_enc
from profile_changes(%(scope_key)s, %(until)s::timestamptz, null, %(most)s::int, true)

-- name: fold
select fold_no, n_changes, first_at, last_at, fold_enc
from profile_fold(%(scope_key)s)

-- name: to_fold
select scope_key, user_id, project_id
from profiles_to_fold(%(before)s::timestamptz, %(except_scopes)s::text[], %(most)s::int)

-- name: put_fold
select fold_profile_history(%(scope_key)s, %(last_at)s::timestamptz, %(taken)s::int, %(fold_no)s::int,
                            %(first_at)s::timestamptz, %(n_changes)s::int, %(fold_enc)s)

-- name: prepare
select prepare_profile_history(%(now)s::timestamptz) as made

-- name: drop
select drop_profile_history(%(before)s::timestamptz) as dropped
