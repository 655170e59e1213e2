-- API keys, and the answers of requests that may be sent twice.

-- name: find_key
select secret_mac, kind, user_id, scopes, expired, revoked, used_lately
from find_api_key(%(prefix)s)

-- name: touch_key
select touch_api_key(%(prefix)s)

-- name: add_api_key
insert into api_key (scope_key, prefix, secret_mac, kind, user_id, scopes, expires_at)
values (%(scope_key)s, %(prefix)s, %(secret_mac)s, %(kind)s, %(user_id)s, %(scopes)s, %(expires_at)s)
returning prefix, kind, user_id, scopes, created_at, expires_at, revoked_at, last_used_at

-- name: list_api_keys
select prefix, kind, user_id, scopes, created_at, expires_at, revoked_at, last_used_at
from api_key
order by created_at, prefix

-- name: revoke_api_key
update api_key
set revoked_at = coalesce(revoked_at, now())
where prefix = %(prefix)s
returning prefix, kind, user_id, scopes, created_at, expires_at, revoked_at, last_used_at, revoked_at = now() as just_now

-- name: drop_expired
select drop_expired_answers(%(most)s)

-- name: reserve
insert into idempotency_key (scope_key, key_mac, request_mac, state, token, expires_at)
values (%(scope_key)s, %(key_mac)s, %(request_mac)s, 'started', %(token)s, now() + %(keep)s)
on conflict (scope_key, key_mac) do nothing

-- name: reserved
select request_mac, state, response_enc, reserved_at < now() - %(stale)s as stale,
       expires_at <= now() as expired
from idempotency_key
where scope_key = %(scope_key)s and key_mac = %(key_mac)s
for update

-- name: take_over
update idempotency_key
set request_mac = %(request_mac)s, state = 'started', token = %(token)s, response_enc = null,
    reserved_at = now(), expires_at = now() + %(keep)s
where scope_key = %(scope_key)s and key_mac = %(key_mac)s

-- name: answer
update idempotency_key
set state = 'done', response_enc = %(response_enc)s
where scope_key = %(scope_key)s and key_mac = %(key_mac)s and token = %(token)s

-- name: still_known
select 1 as known
from app_user
where scope_key = %(scope_key)s

-- name: keep_alive
update idempotency_key
set reserved_at = now()
where scope_key = %(scope_key)s and key_mac = %(key_mac)s and token = %(token)s and state = 'started'

-- name: release
delete from idempotency_key
where scope_key = %(scope_key)s and key_mac = %(key_mac)s and token = %(token)s and state = 'started'
