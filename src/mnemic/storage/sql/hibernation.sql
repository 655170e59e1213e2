-- Hibernation of profiles. Every statement names its scope, but for those of names that tell nothing.

-- name: noticed
-- who is being changed is here anyhow: nobody waits
update app_user a
set last_active_at = now()
from (select scope_key from app_user
      where scope_key = any (%(scope_keys)s) and last_active_at < now() - interval '1 hour'
      order by scope_key for update skip locked) l
where a.scope_key = l.scope_key and a.scope_key = any (%(scope_keys)s)

-- name: away
select scope_key, user_id
from users_away(%(before)s::timestamptz, %(after)s, %(most)s::int)

-- name: to_cool
select scope_key, user_id
from archives_to_cool(%(before)s::timestamptz, %(after)s, %(most)s::int)

-- name: try_user
select status, last_active_at
from app_user
where scope_key = %(scope_key)s
for update skip locked

-- name: hold_user
select status, last_active_at
from app_user
where scope_key = %(scope_key)s
for update

-- name: look_at_user
select status, last_active_at
from app_user
where scope_key = %(scope_key)s

-- name: put_status
select put_status(%(scope_key)s, %(status)s, %(at)s::timestamptz) as put

-- name: behind
select exists (select from outbox where scope_key = %(scope_key)s)
    or exists (select from user_profile where scope_key = %(scope_key)s and stale_at <= now()) as behind

-- name: sleep
update user_profile
set background_enc = null, profession_enc = null, characteristics_enc = null, content_enc = null,
    expertise_areas_enc = null, programming_languages_enc = null, frequently_used_tools_enc = null,
    email_enc = null, phone_enc = null, preferences_enc = null,
    behavior_vector = null, behavior_model_id = null, behavior_weight = null, behavior_at = null,
    asleep_at = %(at)s
where scope_key = %(scope_key)s and asleep_at is null

-- name: wake
update user_profile
set background_enc = %(background_enc)s, profession_enc = %(profession_enc)s,
    characteristics_enc = %(characteristics_enc)s, content_enc = %(content_enc)s,
    expertise_areas_enc = %(expertise_areas_enc)s, programming_languages_enc = %(programming_languages_enc)s,
    frequently_used_tools_enc = %(frequently_used_tools_enc)s, email_enc = %(email_enc)s,
    phone_enc = %(phone_enc)s, preferences_enc = %(preferences_enc)s, behavior_vector = %(vector)s,
    behavior_model_id = %(model_id)s, behavior_weight = %(weight)s, behavior_at = %(behavior_at)s, asleep_at = null
where scope_key = %(scope_key)s and asleep_at is not null and version = %(version)s

-- name: give_up
update user_profile
set asleep_at = null, email_mac = null, phone_mac = null, stale_at = now()
where scope_key = %(scope_key)s and asleep_at is not null

-- name: add_archive
insert into profile_archive (scope_key, version, archive_enc, archived_at)
values (%(scope_key)s, %(version)s, %(archive_enc)s, %(at)s)

-- name: archive
select version, archive_enc, archived_at
from profile_archive
where scope_key = %(scope_key)s

-- name: empty_archive
update profile_archive
set archive_enc = null
where scope_key = %(scope_key)s and version = %(version)s and archived_at = %(archived_at)s
  and archive_enc is not null

-- name: drop_archive
delete from profile_archive
where scope_key = %(scope_key)s

-- name: add_object
insert into cold_object (scope_key, name, n_bytes, sha256)
values (%(scope_key)s, %(name)s, %(n_bytes)s, %(sha256)s)

-- name: object
select name, n_bytes, sha256
from cold_object
where scope_key = %(scope_key)s

-- name: drop_objects
delete from cold_object
where scope_key = %(scope_key)s

-- name: take_fold
select take_profile_fold(%(scope_key)s, %(fold_no)s::int) as taken

-- name: give_fold
select give_profile_fold(%(scope_key)s, %(fold_no)s::int, %(fold_enc)s) as given

-- name: drop_empty_fold
select drop_empty_fold(%(scope_key)s) as dropped

-- name: bytes
select profile_bytes(%(scope_key)s) as n_bytes

-- name: note_removal
insert into cold_removal (name, due_at)
values (%(name)s, now() + %(within)s)

-- name: take_note_back
delete from cold_removal
where name = %(name)s

-- name: removal_due
select name
from cold_removal
where due_at <= now()
order by due_at, name
limit 1
for update skip locked

-- name: whose_store
-- a dump that is restored elsewhere has another place, or another system
select d.id, concat_ws('/', b.oid, current_schema()) as place,
    has_function_privilege('pg_control_system()', 'execute') as may_ask
from deployment d, pg_database b
where b.datname = current_database()

-- name: which_system
select system_identifier
from pg_control_system()

-- name: removals
select count(*) filter (where due_at <= now()) as due
from cold_removal
