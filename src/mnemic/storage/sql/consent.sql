-- What a user agreed to. The transaction has its user to itself.

-- name: hold_user
select pg_advisory_xact_lock(hashtextextended(%(user_scope)s, 7))

-- name: act_as
select set_config('mnemic.scopes', %(scopes)s, true), set_config('mnemic.sessions', %(sessions)s, true),
       set_config('mnemic.actor', %(user_id)s, true), set_config('mnemic.project', '', true)

-- name: user
select key_epoch
from app_user
where scope_key = %(scope_key)s

-- name: latest
select distinct on (purpose) purpose, state
from consent_log
where scope_key = %(scope_key)s
order by purpose, recorded_at desc, id desc

-- name: records
select id, purpose, state, via, recorded_at
from consent_log
where scope_key = %(scope_key)s
order by recorded_at, id

-- name: add
insert into consent_log (scope_key, id, purpose, state, via)
values (%(scope_key)s, %(id)s, %(purpose)s, %(state)s, %(via)s)

-- name: remember
update app_user
set remember = %(state)s
where scope_key = %(scope_key)s
