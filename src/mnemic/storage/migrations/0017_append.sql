-- Turns are logged in one round trip, where nothing has to be looked up first. The function acts as its
-- caller, so that row-level security holds; who asks is set for its transaction, and no longer.

-- Appends turns behind number _last, if that is still the session's newest, the session is open, and its user
-- agrees and has the key of epoch _epoch; "appended" tells. _unasked: users who were not asked yet may be
-- remembered. The lists have one entry a turn.
create function append_turns(
    _scopes text, _sessions text, _actor text, _project text, _user_scope text,
    _scope_key text, _session_id text, _last bigint, _epoch int, _unasked boolean,
    _roles text[], _contents bytea[], _speakers bytea[], _times timestamptz[], _calls bytea[], _intents bytea[],
    _client_macs bytea[], _pinned boolean[],
    out user_status text, out remember text, out key_epoch int, out appended boolean, out at timestamptz)
    language plpgsql set search_path from current set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _asker record := greet(_scopes, _sessions, _actor, _project, _user_scope, false);
begin
    user_status := _asker.user_status; remember := _asker.remember; key_epoch := _asker.key_epoch;
    at := now();
    appended := user_status = 'active' and key_epoch = _epoch
                and (remember = 'granted' or (remember is null and _unasked));
    if not coalesce(appended, false) then
        appended := false;
        return;
    end if;
    update session s set last_seq = s.last_seq + cardinality(_roles), last_active_at = now()
    where s.scope_key = _scope_key and s.session_id = _session_id and s.closed_at is null and s.last_seq = _last;
    appended := found;
    if not appended then
        return;
    end if;
    insert into message (scope_key, session_id, seq, role, content_enc, speaker_enc, created_at, tool_calls_enc,
                         intent_enc, client_mac, pinned)
    select _scope_key, _session_id, _last + n, role, content, speaker, coalesce(said, now()), calls, intent, mac, pin
    from unnest(_roles, _contents, _speakers, _times, _calls, _intents, _client_macs, _pinned)
         with ordinality as turn (role, content, speaker, said, calls, intent, mac, pin, n);
end $$;

do $$
declare
    service name := current_setting('mnemic.service_role');
    entry regprocedure;
begin
    select oid into strict entry from pg_proc
    where proname = 'append_turns' and pronamespace = current_schema()::regnamespace;
    execute format('revoke all on function %s from public', entry);
    execute format('grant execute on function %s to %I', entry, service);
end $$;
