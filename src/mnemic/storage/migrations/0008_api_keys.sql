-- Who may knock: API keys, and the answers that are repeated to whoever asks again with the same Idempotency-Key.

-- Of a key only a keyed hash is kept: 32 random bytes cannot be guessed, so nothing slower is needed. The
-- scope is that of the key's user, so that an erase finds it; keys of services and operators have none of
-- their own ('service:', 'operator:'). The service reads nothing here: it asks by prefix, one key at a time.
create table api_key (
    scope_key    text not null,
    prefix       text not null unique check (prefix ~ '^[a-z0-9]{8,16}$'),
    secret_mac   bytea not null check (length(secret_mac) = 32),
    kind         text not null check (kind in ('user', 'service', 'operator')),
    user_id      text,
    scopes       text[] not null,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    primary key (scope_key, prefix),
    check ((kind = 'user') = (user_id is not null)),
    check (scopes <@ array['read', 'write', 'admin']),
    check (kind <> 'operator' or scopes = '{}')
);

-- One row a request that its sender may repeat. token tells the process that may answer it; whoever took
-- the request over has another, and the first one's write is undone.
create table idempotency_key (
    scope_key    text not null,
    key_mac      bytea not null,
    request_mac  bytea not null,
    state        text not null check (state in ('started', 'done')),
    token        uuid not null,
    response_enc bytea,
    reserved_at  timestamptz not null default now(),
    expires_at   timestamptz not null,
    primary key (scope_key, key_mac),
    check ((state = 'done') = (response_enc is not null))
);
create index idempotency_key_expiry on idempotency_key (expires_at);

do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
    own text := '(scope_key = any ((select string_to_array(current_setting(''mnemic.scopes'', true), '',''))::text[]))';
    name text;
begin
    foreach name in array array['api_key', 'idempotency_key'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy maintenance on %I to %I using (true) with check (true)', name, current_user);
        execute format('create policy own_scopes on %I to %I using %s with check %s', name, service, own, own);
    end loop;
    execute format('grant select, insert, delete, update (request_mac, token, reserved_at, state, response_enc,'
                   ' expires_at) on idempotency_key to %I', service);

    -- As the owner, with every name spelt out and temporary tables last: the service may make such tables.
    execute format($f$
        create function find_api_key(wanted text)
            returns table (secret_mac bytea, kind text, user_id text, scopes text[], expired boolean,
                           revoked boolean, used_lately boolean)
            language sql stable security definer set search_path = pg_catalog, pg_temp
        as $body$
            select k.secret_mac, k.kind, k.user_id, k.scopes, coalesce(k.expires_at <= statement_timestamp(), false),
                   k.revoked_at is not null,
                   coalesce(k.last_used_at > statement_timestamp() - interval '10 minutes', false)
            from %1$I.api_key k where k.prefix = wanted
        $body$ $f$, place);
    execute format($f$
        create function touch_api_key(wanted text) returns void
            language sql security definer set search_path = pg_catalog, pg_temp
        as $body$
            update %1$I.api_key k set last_used_at = statement_timestamp()
            where k.prefix = wanted and k.revoked_at is null
              and (k.last_used_at is null or k.last_used_at < statement_timestamp() - interval '10 minutes')
        $body$ $f$, place);
    -- what has expired of users who do not come back; whoever is at the same rows is not waited for
    execute format($f$
        create function drop_expired_answers(most int) returns void
            language sql security definer set search_path = pg_catalog, pg_temp
        as $body$
            delete from %1$I.idempotency_key i
            where (i.scope_key, i.key_mac) in (
                select e.scope_key, e.key_mac from %1$I.idempotency_key e
                where e.expires_at < statement_timestamp()
                order by e.expires_at limit most for update skip locked)
        $body$ $f$, place);
    revoke all on function find_api_key(text), touch_api_key(text), drop_expired_answers(int) from public;
    execute format('grant execute on function find_api_key(text), touch_api_key(text), drop_expired_answers(int)'
                   ' to %I', service);
end $$;
