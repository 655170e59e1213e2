-- The deployment's key of keys; users and their data keys.

-- name: current_key
select key_id, wrapped, kek_id
from data_key
where scope_key = %(scope_key)s and author_id = %(author_id)s and retired_at is null

-- name: project_keys
select key_id, author_id, wrapped, kek_id, retired_at is not null as retired
from data_key
where scope_key = %(scope_key)s

-- name: add_user
insert into app_user (scope_key, user_id)
values (%(scope_key)s, %(user_id)s)
on conflict (scope_key) do nothing

-- name: add_key
insert into data_key (scope_key, author_id, key_id, wrapped, kek_id)
values (%(scope_key)s, %(author_id)s, %(key_id)s, %(wrapped)s, %(kek_id)s)
on conflict (scope_key, author_id) where retired_at is null do nothing

-- name: add_deployment
insert into deployment (id)
values (%(id)s)
on conflict (only_row) do nothing

-- name: deployment
select id, kek_id, kek_check
from deployment

-- name: deployment_for_update
select id, kek_id, kek_check
from deployment
for update

-- name: bind_deployment
with opened as (
    insert into kek (kek_id) values (%(kek_id)s)
)
update deployment
set kek_id = %(kek_id)s, kek_check = %(kek_check)s

-- name: hold_kek
-- whoever makes a data key holds it shared until the end; a rotation holds it alone while it changes the key
select pg_advisory_xact_lock_shared(hashtextextended('kek of ' || current_schema(), 0))
